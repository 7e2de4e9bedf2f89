// Recurrent ops, taken apart once for all backends: the input's product by its weights is a MatMul for all steps, and what is left for a lowering
// is the recurrence itself, of one result, from which the op's outputs are cut.
#pragma once

#include <functional>

#include "common/plan.hpp"

namespace backplane::backend {

// What is left keeps the number, the attributes and the operands of the op, but for these: operand 0 is the product, f32 [d, T * N, gates * H]; w is
// not given; states are [d, N, H], whatever the layout. Its result is f32 [rows, d, N, H]: a row a step, and behind them:
struct RecurrentRows {
    explicit RecurrentRows(int64_t steps)
        : state(steps), other(steps + 1), cell(steps + 2), reached(steps + 2), update(steps + 3) {}
    int64_t state;    // at last
    int64_t other;    // these two take turns
    int64_t cell;     // what is kept beside the state, with `cells`
    int64_t reached;  // where the reset gate comes before the product: the state times it
    int64_t update;   // and the update gate

    // Where a step finds the state, the first the initial one, and where it leaves it.
    [[nodiscard]] int64_t before(int64_t step) const { return (state - step) % 2 == 0 ? state : other; }
    [[nodiscard]] int64_t after(int64_t step) const { return before(step + 1); }
};

struct Recurrence {
    int64_t steps = 0, batch = 0, directions = 0, hidden = 0;
    bool cells = false;         // long short-term memory
    bool reset_behind = false;  // linear_before_reset
    int64_t gates = 0;
    bool reverse = false;
    backplane::ops::List activations;
    float clip = 0;
    bool input_forget = false;

    // Function k of direction d.
    [[nodiscard]] uint32_t function(int64_t d, size_t k) const;
    [[nodiscard]] bool backwards(int64_t d) const { return d == 1 || reverse; }
    // One kernel makes all of a step.
    [[nodiscard]] bool at_once() const { return cells || reset_behind; }
    [[nodiscard]] int64_t rows_behind() const { return cells ? 3 : reset_behind ? 2 : 4; }
};
// Of a node that is left, and its result.
Recurrence recurrence_of(const Node& node, const Value& result);

// `value(id)` and `temporary(dtype, dim)` are the plan's.
using Temporary = std::function<ValueId(uint32_t dtype, std::vector<int64_t> dim)>;
void expand_recurrent(PlanNodes& plan, const std::function<const Value&(ValueId)>& value, const Temporary& temporary);

template <typename V>
void expand_recurrent(PlanOf<V>& plan) {
    expand_recurrent(
        plan, [&](ValueId id) -> const Value& { return plan[id]; },
        [&](uint32_t dtype, std::vector<int64_t> dim) { return plan.temporary(dtype, std::move(dim)); });
}

}  // namespace backplane::backend
