// The host's graph as values and nodes.
#include <algorithm>

#include "common/graph.hpp"

namespace backplane::backend {

namespace {

// Offsets and sizes in bytes are 64-bit numbers all along.
void check_size(const Value& value, uint32_t index) {
    constexpr int64_t kMostElements = int64_t{1} << 56;
    int64_t elements = 1;
    for (const int64_t d : value.dim) {
        if (d > kMostElements || (d != 0 && elements > kMostElements / d))
            throw sdk::Failure(BP_INVALID, "graph is not valid: tensor " + std::to_string(index) + " is too large");
        elements *= std::max<int64_t>(1, d);
    }
}

Value import_tensor(const sdk::GraphView& graph, uint32_t index) {
    const bp_tensor t = graph.tensor(index);
    Value value = read_tensor(graph, index);
    if (t.role == BP_ROLE_CONSTANT) {
        if (t.data.size < value.bytes || (t.data.data == nullptr && value.bytes != 0))
            throw sdk::Failure(BP_INVALID, "graph is not valid: constant tensor " + std::to_string(index) + " has " +
                                               std::to_string(t.data.size) + " bytes, needs " + std::to_string(value.bytes));
        const auto* data = static_cast<const std::byte*>(t.data.data);
        value.constant.assign(data, data + value.bytes);
    }
    if (t.role == BP_ROLE_STATE && t.state_in != 0) {
        if (t.state_in > graph.tensors()) throw sdk::Failure(BP_INVALID, "graph is not valid: state_in names no tensor");
        // Has memory of its own at first, since other nodes may read the state behind its update; a backend puts it in place where none does.
        value.role = BP_ROLE_TEMPORARY;
        value.state = t.state_in - 1;
    }
    return value;
}

// What no op could have (a longer list, a kind unknown here) becomes an attribute that the rules refuse.
backplane::ops::AttributeValue import_attribute(const bp_attribute& a) {
    backplane::ops::AttributeValue value;
    const auto* data = static_cast<const int64_t*>(a.integers.data);
    const size_t count = a.type == BP_ATTRIBUTE_INTS && data != nullptr ? a.integers.size / sizeof(int64_t) : 0;
    if (a.type < BP_ATTRIBUTE_INT || a.type > BP_ATTRIBUTE_INTS || count > value.list.items.size()) return value;
    value.id = a.id;
    value.kind = static_cast<backplane::ops::Kind>(a.type);
    value.integer = a.integer;
    value.number = a.number;
    for (size_t i = 0; i < count; ++i) value.list.push_back(data[i]);
    return value;
}

}  // namespace

Value read_tensor(const sdk::GraphView& graph, uint32_t index) {
    const bp_tensor t = graph.tensor(index);
    Value value;
    value.dtype = t.dtype;
    value.role = t.role;
    value.tensor = index;
    for (uint32_t d = 0; d < t.rank; ++d) {
        if (t.dim[d] < 0)
            throw sdk::Failure(BP_UNSUPPORTED, "compile: tensor " + std::to_string(index) +
                                                   " has a symbolic dimension; compile the graph once per size");
        value.dim.push_back(t.dim[d]);
    }
    check_size(value, index);
    value.bytes = graph.bytes(t);
    return value;
}

Node read_node(const sdk::GraphView& graph, uint32_t index) {
    const bp_node n = graph.node(index);
    Node node;
    node.op = n.op;
    node.index = index;
    if (n.name != nullptr) node.name = n.name;
    for (uint32_t k = 0; k < n.inputs; ++k) node.inputs.push_back(graph.input(n, k));
    node.output = graph.output(n, 0);
    if (n.outputs != 1 || node.output == BP_NO_TENSOR)
        throw sdk::Failure(BP_INVALID, "graph is not valid: " + node.text() + " must have one output");
    for (uint32_t k = 0; k < n.attributes; ++k) node.attributes.push_back(import_attribute(graph.attribute(n, k)));
    return node;
}

ImportedGraph read_graph(const bp_graph* from) {
    const sdk::GraphView graph(from);
    graph.validate();
    ImportedGraph plan;
    for (uint32_t i = 0; i < graph.tensors(); ++i) plan.values.push_back(import_tensor(graph, i));
    std::vector<bool> written(plan.values.size());
    for (uint32_t i = 0; i < plan.values.size(); ++i) {
        const Value& v = plan.values[i];
        written[i] = v.role != BP_ROLE_TEMPORARY && v.role != BP_ROLE_OUTPUT;
        if (v.role == BP_ROLE_OUTPUT || v.state != kNone) plan.outputs.push_back(i);
    }
    for (uint32_t i = 0; i < graph.nodes(); ++i) {
        Node node = read_node(graph, i);
        for (const ValueId v : node.inputs)
            if (v != kNone && !written[v])
                throw sdk::Failure(BP_INVALID, "graph is not valid: " + node.text() + " reads tensor " + std::to_string(v) +
                                                   " before it is written");
        if (written[node.output])
            throw sdk::Failure(BP_INVALID, "graph is not valid: " + node.text() + " writes tensor " +
                                               std::to_string(node.output) + ", which is bound or was written before");
        written[node.output] = true;
        plan.nodes.push_back(std::move(node));
    }
    return plan;
}

}  // namespace backplane::backend
