// The rules of ops.h: which operands and attributes an op has, and what shape follows from them. A graph that lies is refused here, so
// that lowerings need not look.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "common/graph.hpp"

namespace backplane::backend {

// `inputs` and `output` are the values that the node names, null where an operand is not given, `more` those of its other outputs.
// BP_WHY_ATTRIBUTE: an attribute the op does not have, of another type than its own, twice, or of a value it does not take;
// BP_WHY_SHAPE: operands that are missing or too many, dimensions that do not fit.
Verdict check_shapes(const Node& node, std::span<const Value* const> inputs, const Value& output,
                     const std::vector<const Value*>& more = {});

// So many of something, which have their room on the stack where they are few: a plan checks each of its nodes.
template <typename T, size_t kFew>
class Room {
public:
    explicit Room(size_t count)
        : many_(count > kFew ? count : 0), all_(many_.empty() ? std::span(few_).first(count) : std::span(many_)) {}
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    [[nodiscard]] std::span<T> all() const { return all_; }

private:
    std::array<T, kFew> few_{};
    std::vector<T> many_;
    std::span<T> all_;
};

// The same for a node of a backend's own plan.
template <typename Plan>
Verdict check_shapes(const Plan& plan, const Node& node) {
    const Room<const Value*, 8> room(node.inputs.size());
    const std::span<const Value*> inputs = room.all();
    for (size_t k = 0; k < inputs.size(); ++k) inputs[k] = node.inputs[k] != kNone ? &plan.values[node.inputs[k]] : nullptr;
    std::vector<const Value*> more;
    for (const ValueId output : node.more) more.push_back(&plan.values[output]);
    return check_shapes(node, inputs, plan.values[node.output], more);
}

}  // namespace backplane::backend
