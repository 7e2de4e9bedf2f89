// What is checked of a node before anybody computes it: the same in the host's graph and in every module, from the op's description.
#pragma once

#include "backplane/ops/description.hpp"

namespace backplane::ops {

// ---- checks, the same in the host and in modules ----------------------------------------------------------------------------

inline void check_type(const Call& call, size_t i, const TypeRule& rule) {
    if (rule.like < 0) {
        const bool fits = (rule.types & type(call.dtype(i))) != 0;
        require(fits || rule.types != kPlain, BP_WHY_DTYPE,
                [&] { return "does not take block types, " + call.typed_text(i) + " is one"; });
        require(fits, BP_WHY_DTYPE, [&] { return "takes " + names_of(rule.types) + ", not " + call.typed_text(i); });
        return;
    }
    const auto other = static_cast<size_t>(rule.like);
    const bool fits = call.dtype(i) == call.dtype(other) ||
                      ((rule.beside & type(call.dtype(other))) != 0 && (rule.others & type(call.dtype(i))) != 0);
    require(fits, BP_WHY_DTYPE, [&] {
        return call.typed_text(i) + " must have the element type of " + call.typed_text(other) +
               (rule.others == 0 ? "" : ", or be " + names_of(rule.others) + " for " + names_of(rule.beside));
    });
}

inline void check_operands(const Call& call) {
    const Description& op = call.op;
    const auto given = static_cast<uint32_t>(call.inputs.size());
    const uint32_t least = op.least_inputs();
    const uint32_t most = op.any_inputs ? 1U << 16 : op.inputs.size();
    require(given >= least && given <= most, [&] {
        return "takes " +
               (op.any_inputs   ? std::to_string(least) + " or more"
                : least == most ? std::to_string(least)
                                : std::to_string(least) + " to " + std::to_string(most)) +
               " inputs, " + std::to_string(given) + " given";
    });
    for (uint32_t i = 0; i < given; ++i) {
        const Input& rule = op.inputs[std::min(i, op.inputs.size() - 1)];
        require(call.has(i) || rule.optional, [&] { return std::string("needs its input ") + rule.name; });
        if (call.has(i))
            check_type(call, i, i >= op.inputs.size() ? like(static_cast<int32_t>(op.inputs.size() - 1)) : rule.type);
    }
}

// One attribute against its rule: type and length.
inline void check_form(const AttributeRule& rule, const AttributeValue& value) {
    const auto name = [&] { return std::string("attribute ") + attribute_name(rule.id); };
    require_attribute(value.kind == rule.kind, [&] {
        return name() + " is " +
               (rule.kind == Kind::integer  ? "one whole number"
                : rule.kind == Kind::number ? "one number"
                                            : "a list of whole numbers");
    });
    require_attribute(rule.kind != Kind::integers || rule.length == 0 || value.list.size() == rule.length, [&] {
        return name() + " has " + std::to_string(value.list.size()) + " numbers, needs " + std::to_string(rule.length);
    });
}

// Type, length, limits.
inline void check_attribute(const AttributeRule& rule, const AttributeValue& value) {
    check_form(rule, value);
    const auto name = [&] { return std::string("attribute ") + attribute_name(rule.id); };
    const Limits& limits = rule.limits;
    const auto within = [&](int64_t v) { return v >= limits.least && v <= limits.most; };
    const bool all = rule.kind == Kind::number    ? true
                     : rule.kind == Kind::integer ? within(value.integer)
                                                  : std::all_of(value.list.begin(), value.list.end(), within);
    require_attribute(all || limits.axis_of >= 0, [&] {
        const bool below = rule.kind == Kind::integer ? value.integer < limits.least
                                                      : std::any_of(value.list.begin(), value.list.end(),
                                                                    [&](int64_t v) { return v < limits.least; });
        const std::string what = rule.kind == Kind::integer ? std::to_string(value.integer) : text_of(value.list);
        return name() + " " + what + " is out of range: it takes " +
               (limits.most != kLargestAttribute ? std::to_string(limits.least) + " to " + std::to_string(limits.most)
                : below                          ? std::to_string(limits.least) + " or more"
                                                 : "numbers up to " + std::to_string(limits.most));
    });
}

inline void check_attributes(const Call& call) {
    for (const AttributeRule& rule : call.op.attributes) {
        AttributeValue value;
        value.id = rule.id;
        require_attribute(rule.get(call.attributes, value),
                          [&] { return std::string("needs the attribute ") + attribute_name(rule.id); });
        check_attribute(rule, value);
        if (rule.limits.axis_of < 0) continue;
        const auto of = static_cast<size_t>(rule.limits.axis_of);
        require_attribute(value.integer >= 0 && value.integer < int64_t{call.rank(of)}, [&] {
            return std::string(attribute_name(rule.id)) + " " + std::to_string(value.integer) + " lies outside " +
                   call.text(of);
        });
    }
}

// Arity, element types, attributes, then the shape rule, which fills `outputs`. `attributes` is the op's own structure. Throws Refusal.
inline void check(const Description& op, std::span<const Operand> inputs, const void* attributes, Outputs outputs) {
    const Call call{op, inputs, attributes};
    check_operands(call);
    check_attributes(call);
    const uint32_t wanted = op.outputs_of(call);
    require(outputs.size() == wanted,
            [&] { return "has " + std::to_string(outputs.size()) + " outputs, its op has " + std::to_string(wanted); });
    for (uint32_t i = 0; i < outputs.size(); ++i) {
        const TypeRule& rule = op.outputs[std::min(i, op.outputs.size() - 1)].type;
        if (rule.like >= 0) outputs[i].dtype = inputs[static_cast<size_t>(rule.like)].dtype;
    }
    op.shape(call, outputs);
}

// Builders: a negative axis counts from the end, and the op's own completion. What is out of range stays so, for check() to refuse. Throws
// Refusal for what cannot be completed; operands have passed check_operands.
inline void complete(const Description& op, std::span<const Operand> inputs, void* attributes) {
    for (const AttributeRule& rule : op.attributes) {
        if (rule.limits.axis_of < 0) continue;
        AttributeValue value;
        value.id = rule.id;
        if (!rule.get(attributes, value) || value.integer >= 0) continue;
        value.integer += inputs[static_cast<size_t>(rule.limits.axis_of)].dims.size();
        rule.set(attributes, value);
    }
    if (op.complete != nullptr) op.complete({op, inputs, attributes}, attributes);
}

// ---- from a graph's plain attributes to the op's own structure --------------------------------------------------------------

// Writes what a node states over the defaults. `stated`: a range of AttributeValue. Throws Refusal.
template <class Range>
void apply(const Description& op, const Range& stated, void* attributes) {
    uint64_t seen = 0;
    for (const AttributeValue& one : stated) {
        const AttributeRule* rule = op.find(one.id);
        require_attribute(rule != nullptr, [&] {
            std::string known;
            for (const AttributeRule& r : op.attributes)
                known += std::string(known.empty() ? "" : ", ") + attribute_name(r.id);
            return std::string("takes no attribute ") + attribute_name(one.id) + "; it takes " +
                   (known.empty() ? "none" : known);
        });
        const uint64_t bit = uint64_t{1} << (rule - op.attributes.begin());
        require_attribute((seen & bit) == 0,
                          [&] { return std::string("attribute ") + attribute_name(one.id) + " is given twice"; });
        seen |= bit;
        // Lists and axes may still be completed; a whole number would lose what its member cannot hold.
        if (rule->kind == Kind::integer && rule->limits.axis_of < 0)
            check_attribute(*rule, one);
        else
            check_form(*rule, one);
        rule->set(attributes, one);
    }
}

// The attributes of a node for its lowering: attributes_of<ConvAttributes>(op_conv, stated). Throws Refusal.
template <class A, class Range>
A attributes_of(const Description& op, const Range& stated) {
    A out{};
    apply(op, stated, &out);
    return out;
}

// Attributes of any op, in place.
struct AnyAttributes {
    static constexpr size_t kRoom = 768;
    alignas(8) std::array<std::byte, kRoom> room{};
    explicit AnyAttributes(const Description& op) {
        if (op.attribute_bytes != 0)
            std::copy_n(static_cast<const std::byte*>(op.defaults), op.attribute_bytes, room.begin());
    }
    [[nodiscard]] void* get() { return room.data(); }
    [[nodiscard]] const void* get() const { return room.data(); }
    template <class A>
    [[nodiscard]] const A& as() const {
        return *reinterpret_cast<const A*>(room.data());  // NOLINT: a trivially copyable structure was copied there
    }
};

}  // namespace backplane::ops
