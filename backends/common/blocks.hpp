// Rows of blocks that are picked: moved as they are, then decoded, so that a Gather knows of no block but its bytes.
#pragma once

#include <functional>

#include "common/plan.hpp"

namespace backplane::backend {

// `value(id)` and `add(value)` are the plan's.
void decode_gathered(PlanNodes& plan, const std::function<const Value&(ValueId)>& value,
                     const std::function<ValueId(Value)>& add);

template <typename V>
void decode_gathered(PlanOf<V>& plan) {
    decode_gathered(
        plan, [&](ValueId id) -> const Value& { return plan[id]; },
        [&](Value value) { return plan.add_value(V{std::move(value)}); });
}

}  // namespace backplane::backend
