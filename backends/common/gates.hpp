// Gated linear units (GLU, SwiGLU and alike): a tensor's one half times a function of the other, which graphs write as a Split, a function and a Mul, is
// one node that reads the tensor once.
#pragma once

#include <functional>

#include "common/plan.hpp"

namespace backplane::backend {

// An op of our own, outside the op table: inputs[0] is the whole tensor, post[0] the function, and `part` says which half it is of.
inline constexpr uint32_t kOpGated = 0x10001;

// The tensor as [outer, 2, half] elements, row-major.
struct Gated {
    int64_t outer = 1, half = 0;
};
Gated gated_of(const Value& x, const Value& y);

// `value(id)` is the plan's. What nobody reads any more is left to drop_unread.
void fuse_gates(PlanNodes& plan, const std::function<const Value&(ValueId)>& value);

template <typename V>
void fuse_gates(PlanOf<V>& plan) {
    fuse_gates(plan, [&](ValueId id) -> const Value& { return plan[id]; });
}

}  // namespace backplane::backend
