// The rules of ops.h: which operands and attributes an op has, and what shape follows from them. A graph that lies is refused here, so
// that lowerings need not look.
#pragma once

#include <array>
#include <span>

#include "common/graph.hpp"

namespace backplane::backend {

// `inputs` and `output` are the values that the node names, null where an operand is not given, `more` those of its other outputs.
// BP_WHY_ATTRIBUTE: an attribute the op does not have, of another type than its own, twice, or of a value it does not take;
// BP_WHY_SHAPE: operands that are missing or too many, dimensions that do not fit.
Verdict check_shapes(const Node& node, std::span<const Value* const> inputs, const Value& output,
                     const std::vector<const Value*>& more = {});

inline constexpr size_t kFewOperands = 8;  // as many have their room on the stack: a plan checks each of its nodes

// The same for a node of a backend's own plan.
template <typename Plan>
Verdict check_shapes(const Plan& plan, const Node& node) {
    std::array<const Value*, kFewOperands> few{};
    std::vector<const Value*> many(node.inputs.size() > few.size() ? node.inputs.size() : 0);
    const std::span<const Value*> inputs = many.empty() ? std::span(few).first(node.inputs.size()) : std::span(many);
    for (size_t k = 0; k < inputs.size(); ++k) inputs[k] = node.inputs[k] != kNone ? &plan.values[node.inputs[k]] : nullptr;
    std::vector<const Value*> more;
    for (const ValueId output : node.more) more.push_back(&plan.values[output]);
    return check_shapes(node, inputs, plan.values[node.output], more);
}

}  // namespace backplane::backend
