#include "graph/op_definition.hpp"

#include <utility>

#include "graph/graph_access.hpp"

namespace backplane::graph {

namespace {

std::string label(const OpDefinition& definition, std::string_view node) {
    std::string text = definition.name();
    if (!node.empty()) text.append(" '").append(node).append("'");
    return text;
}

backplane::ops::List list_of(uint32_t id, std::span<const int64_t> from) {
    backplane::ops::List list;
    backplane::ops::require_attribute(from.size() <= list.items.size(), [&] {
        return std::string("attribute ") + backplane::ops::attribute_name(id) + " has " + std::to_string(from.size()) +
               " numbers, more than any op takes";
    });
    for (const int64_t v : from) list.push_back(v);
    return list;
}

// A whole number is also a number, and a list of one.
backplane::ops::AttributeValue value_of(const Attribute& from, const backplane::ops::AttributeRule* rule) {
    backplane::ops::AttributeValue to;
    to.id = static_cast<uint32_t>(from.id);
    if (const auto* list = std::get_if<std::vector<int64_t>>(&from.value)) {
        to.kind = backplane::ops::Kind::integers;
        to.list = list_of(to.id, *list);
    } else if (const auto* number = std::get_if<double>(&from.value)) {
        to.kind = backplane::ops::Kind::number;
        to.number = *number;
    } else {
        to.integer = std::get<int64_t>(from.value);
        to.kind = rule != nullptr ? rule->kind : backplane::ops::Kind::integer;
        to.number = static_cast<double>(to.integer);
        to.list = {to.integer};
    }
    return to;
}

Attribute attribute_of(const backplane::ops::AttributeValue& from) {
    const auto id = static_cast<Attr>(from.id);
    switch (from.kind) {
        case backplane::ops::Kind::integer: return {id, from.integer};
        case backplane::ops::Kind::number: return {id, from.number};
        case backplane::ops::Kind::integers: break;
    }
    return {id, std::vector<int64_t>(from.list.begin(), from.list.end())};
}

// Throws backplane::ops::Refusal.
CheckedNode check(const backplane::ops::Description& op, std::span<const backplane::ops::Operand> operands,
                  std::span<const Attribute> attributes, Form form) {
    std::vector<backplane::ops::AttributeValue> stated;
    stated.reserve(attributes.size());
    for (const Attribute& a : attributes) stated.push_back(value_of(a, op.find(static_cast<uint32_t>(a.id))));
    backplane::ops::AnyAttributes values(op);
    backplane::ops::check_operands({op, operands, values.get()});
    backplane::ops::apply(op, stated, values.get());
    backplane::ops::Operand alone;  // of most ops the only one
    const uint32_t count = op.outputs_of({op, operands, values.get()});
    std::vector<backplane::ops::Operand> several(count > 1 ? count : 0);
    const std::span<backplane::ops::Operand> outputs = count > 1 ? std::span(several) : std::span(&alone, count);
    // What comes in its final form is checked as it came; completing it then only states what was left to its default.
    if (form == Form::final) backplane::ops::check(op, operands, values.get(), outputs);
    backplane::ops::complete(op, operands, values.get());
    if (form == Form::written) backplane::ops::check(op, operands, values.get(), outputs);
    CheckedNode checked;
    checked.outputs.reserve(outputs.size());
    checked.attributes.reserve(op.attributes.size());
    for (const backplane::ops::Operand& output : outputs)
        checked.outputs.push_back({static_cast<DType>(output.dtype), Shape(output.dims.begin(), output.dims.end())});
    for (const backplane::ops::AttributeRule& rule : op.attributes) {
        backplane::ops::AttributeValue value;
        value.id = rule.id;
        rule.get(values.get(), value);
        set(checked.attributes, attribute_of(value));
    }
    return checked;
}

}  // namespace

backplane::ops::Operand operand_of(DType dtype, const Shape& shape) {
    backplane::ops::Operand to{static_cast<uint32_t>(dtype), {}};
    for (const int64_t extent : shape) to.dims.push_back(extent);
    return to;
}

CheckedNode check_node(const OpDefinition& definition, std::string_view node, std::span<const Operand> inputs,
                       std::span<const Attribute> attributes, Form form) {
    std::vector<backplane::ops::Operand> operands;
    operands.reserve(inputs.size());
    for (const Operand& input : inputs) operands.push_back(operand_of(input.dtype, input.shape));
    return check_node(definition, node, operands, attributes, form);
}

CheckedNode check_node(const OpDefinition& definition, std::string_view node,
                       std::span<const backplane::ops::Operand> inputs, std::span<const Attribute> attributes, Form form) {
    try {
        CheckedNode checked = check(definition.description, inputs, attributes, form);
        for (const Operand& output : checked.outputs)
            check_tensor([&] { return label(definition, node); }, output.dtype, output.shape);
        return checked;
    } catch (const backplane::ops::Refusal& refusal) {
        throw Error(Code::invalid, label(definition, node) + ": " + refusal.text);
    }
}

}  // namespace backplane::graph
