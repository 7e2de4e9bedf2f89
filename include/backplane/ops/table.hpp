// The op table: every line of BP_OPS with its description. An op without a description does not compile; one that contradicts itself neither.
#pragma once

#include <iterator>

#include "backplane/ops/attention.hpp"
#include "backplane/ops/check.hpp"
#include "backplane/ops/conv.hpp"
#include "backplane/ops/elementwise.hpp"
#include "backplane/ops/logic.hpp"
#include "backplane/ops/matmul.hpp"
#include "backplane/ops/move.hpp"
#include "backplane/ops/norm.hpp"
#include "backplane/ops/pick.hpp"
#include "backplane/ops/pool.hpp"
#include "backplane/ops/recurrent.hpp"
#include "backplane/ops/reduce.hpp"
#include "backplane/ops/repeat.hpp"

namespace backplane::ops {

#define BP_OP_ROW(id, identifier, name) &op_##identifier,
inline constexpr const Description* kTable[] = {BP_OPS(BP_OP_ROW)};
#undef BP_OP_ROW

// Null: there is no such op.
constexpr const Description* find(uint32_t id) {
    switch (id) {
#define BP_OP_ROW(number, identifier, name) \
    case number: return &op_##identifier;
        BP_OPS(BP_OP_ROW)
#undef BP_OP_ROW
        default: return nullptr;
    }
}

// Each element of the one result, which has the type of the first operand, is made of those of so many operands. Cast, whose type is another, is none.
constexpr bool is_elementwise(const Description& op, size_t operands) {
    return op.elementwise && op.inputs.size() == operands && op.outputs.size() == 1 && op.outputs[0].type.like == 0;
}
constexpr bool is_elementwise(uint32_t op, size_t operands) {
    const Description* description = find(op);
    return description != nullptr && is_elementwise(*description, operands);
}

constexpr uint32_t type_of_attribute(uint32_t id) {
    switch (id) {
#define BP_ATTRIBUTE_TYPE(number, identifier, type, name) \
    case number: return BP_ATTRIBUTE_##type;
        BP_ATTRIBUTES(BP_ATTRIBUTE_TYPE)
#undef BP_ATTRIBUTE_TYPE
        default: return 0;
    }
}

constexpr bool is_sound(const Description& op) {
    // Not whether pointers are null: with some sanitizers that is no constant. A test looks.
    if (op.outputs.empty() || op.inputs.empty()) return false;
    if (op.attribute_bytes > AnyAttributes::kRoom) return false;
    for (uint32_t i = 0; i < op.inputs.size(); ++i) {  // optional operands come last, `like` points back
        const Input& input = op.inputs[i];
        if (i > 0 && op.inputs[i - 1].optional && !input.optional) return false;
        if (input.type.like >= static_cast<int32_t>(i) || (input.type.like < 0 && input.type.types == 0)) return false;
    }
    for (const AttributeRule& rule : op.attributes) {
        if (static_cast<uint32_t>(rule.kind) != type_of_attribute(rule.id)) return false;
        if (rule.limits.axis_of >= static_cast<int32_t>(op.inputs.size())) return false;
    }
    return true;
}
constexpr bool all_sound() {
    for (size_t i = 0; i < std::size(kTable); ++i)
        if (!is_sound(*kTable[i]) || find(kTable[i]->id) != kTable[i] || (i > 0 && kTable[i - 1]->id >= kTable[i]->id))
            return false;
    return true;
}
static_assert(all_sound());

}  // namespace backplane::ops
