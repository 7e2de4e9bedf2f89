#include "graph/op_definition.hpp"

#include <algorithm>
#include <utility>

#include "graph/graph_access.hpp"

namespace backplane::graph {

namespace {

// No real attribute is larger; sums and products of two extents and attributes then need no more than the checks they have.
constexpr int64_t kLargestAttribute = int64_t{1} << 48;

std::string label(const OpDefinition& definition, std::string_view node) {
    std::string text = definition.name;
    if (!node.empty()) text.append(" '").append(node).append("'");
    return text;
}

const char* input_name(const OpDefinition& definition, size_t i) {
    return definition.inputs[std::min(i, definition.inputs.size() - 1)].name;
}

std::string names_of(std::span<const AttributeRule> rules) {
    std::string text;
    for (const AttributeRule& rule : rules) text += std::string(text.empty() ? "" : ", ") + name_of(rule.id);
    return text.empty() ? "none" : text;
}

bool too_large(Attr id, int64_t value) {
    const bool clamped_later = id == Attr::starts || id == Attr::ends;  // ONNX writes "to the end" as the largest int64
    return !clamped_later && (value > kLargestAttribute || value < -kLargestAttribute);
}

// The attribute with the type the table asks for.
Attribute converted(const Attribute& attribute, const InferCall& call) {
    const std::string name = name_of(attribute.id);
    switch (type_of(attribute.id)) {
        case BP_ATTRIBUTE_INT:
            if (const auto* value = std::get_if<int64_t>(&attribute.value)) {
                if (too_large(attribute.id, *value))
                    call.refuse("attribute " + name + " is out of range: " + std::to_string(*value));
                return attribute;
            }
            call.refuse("attribute " + name + " is one whole number");
        case BP_ATTRIBUTE_FLOAT:
            if (const auto* value = std::get_if<int64_t>(&attribute.value))
                return {attribute.id, static_cast<double>(*value)};
            if (std::holds_alternative<double>(attribute.value)) return attribute;
            call.refuse("attribute " + name + " is one number");
        default: break;
    }
    Attribute list = attribute;
    if (const auto* value = std::get_if<int64_t>(&attribute.value)) list.value = std::vector<int64_t>{*value};
    const auto* values = std::get_if<std::vector<int64_t>>(&list.value);
    if (values == nullptr) call.refuse("attribute " + name + " is a list of whole numbers");
    for (const int64_t value : *values)
        if (too_large(attribute.id, value)) call.refuse("attribute " + name + " is out of range: " + std::to_string(value));
    return list;
}

Attribute default_of(const AttributeRule& rule) {
    switch (type_of(rule.id)) {
        case BP_ATTRIBUTE_INT: return {rule.id, rule.integer};
        case BP_ATTRIBUTE_FLOAT: return {rule.id, rule.number};
        default: return {rule.id, std::vector<int64_t>(rule.count, rule.integer)};
    }
}

std::vector<Attribute> filled(const OpDefinition& definition, const InferCall& call, const std::vector<Attribute>& stated) {
    std::vector<Attribute> all;
    for (const Attribute& attribute : stated) {
        if (definition.find(attribute.id) == nullptr)
            call.refuse(std::string("takes no attribute ") + name_of(attribute.id) + "; it takes " +
                        names_of(definition.attributes));
        if (AttributeView(all).find(attribute.id) != nullptr)
            call.refuse(std::string("attribute ") + name_of(attribute.id) + " is given twice");
        set(all, converted(attribute, call));
    }
    for (const AttributeRule& rule : definition.attributes) {
        if (AttributeView(all).find(rule.id) != nullptr) continue;
        if (rule.otherwise == AttributeRule::Otherwise::required)
            call.refuse(std::string("needs the attribute ") + name_of(rule.id));
        if (rule.otherwise == AttributeRule::Otherwise::stated) set(all, default_of(rule));
    }
    return all;
}

void check_arity(const OpDefinition& definition, const InferCall& call, const std::vector<Operand>& inputs) {
    const uint32_t least = definition.least_inputs();
    const uint32_t most = definition.most_inputs();
    if (inputs.size() < least || inputs.size() > most) {
        const std::string wants = definition.any_number ? "1 or more"
                                  : least == most       ? std::to_string(least)
                                                        : std::to_string(least) + " to " + std::to_string(most);
        call.refuse("takes " + wants + " inputs, " + std::to_string(inputs.size()) + " given");
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
        const bool optional = !definition.any_number && definition.inputs[i].optional;
        if (!optional && inputs[i].dtype == DType::unknown)
            call.refuse(std::string("needs its input ") + input_name(definition, i));
    }
}

}  // namespace

uint32_t OpDefinition::least_inputs() const {
    return static_cast<uint32_t>(
        std::count_if(inputs.begin(), inputs.end(), [](const InputRule& r) { return !r.optional; }));
}

uint32_t OpDefinition::most_inputs() const { return any_number ? kMostInputs : static_cast<uint32_t>(inputs.size()); }

const AttributeRule* OpDefinition::find(Attr id) const {
    for (const AttributeRule& rule : attributes)
        if (rule.id == id) return &rule;
    return nullptr;
}

std::string InferCall::text(size_t i) const {
    return std::string(input_name(definition_, i)).append(" ").append(to_string(shape(i)));
}

std::string InferCall::typed_text(size_t i) const {
    return std::string(input_name(definition_, i))
        .append(" ")
        .append(name_of(dtype(i)))
        .append(" ")
        .append(to_string(shape(i)));
}

void InferCall::refuse(const std::string& why) const { throw Error(Code::invalid, label(definition_, node_) + ": " + why); }

CheckedNode check_node(const OpDefinition& definition, std::string_view node, std::vector<Operand> inputs,
                       const std::vector<Attribute>& attributes) {
    const InferCall bare(definition, node, inputs, {});
    check_arity(definition, bare, inputs);
    if (!definition.any_number) inputs.resize(definition.inputs.size());
    CheckedNode checked;
    checked.attributes = filled(definition, bare, attributes);
    if (definition.complete != nullptr) {
        const std::vector<Attribute> before = checked.attributes;
        definition.complete(InferCall(definition, node, inputs, before), checked.attributes);
    }
    checked.result = definition.infer(InferCall(definition, node, inputs, checked.attributes));
    check_tensor(label(definition, node), checked.result.dtype, checked.result.shape);
    return checked;
}

}  // namespace backplane::graph
