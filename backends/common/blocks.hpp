// Rows of blocks that are picked: moved as they are, then decoded, so that a Gather knows of no block but its bytes.
#pragma once

#include <functional>

#include "common/plan.hpp"

namespace backplane::backend {

// `value(id)` and `add(value)` are the plan's; a Gather that decodes by itself stays as it is.
void decode_gathered(PlanNodes& plan, const std::function<const Value&(ValueId)>& value,
                     const std::function<ValueId(Value)>& add, const std::function<bool(const FusedNode&)>& decodes_itself);

template <typename V>
void decode_gathered(
    PlanOf<V>& plan, const std::function<bool(const FusedNode&)>& decodes_itself = [](const FusedNode&) { return false; }) {
    decode_gathered(
        plan, [&](ValueId id) -> const Value& { return plan[id]; },
        [&](Value value) { return plan.add_value(V{std::move(value)}); }, decodes_itself);
}

}  // namespace backplane::backend
