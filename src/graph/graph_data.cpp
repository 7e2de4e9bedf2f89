// A graph as plain data of the module ABI.
#include "backplane/graph.hpp"

namespace backplane {

struct GraphData::Storage {
    explicit Storage(const Graph& from) : source(from) {}
    Graph source;  // owns names, constants and lists of integers
    std::vector<bp_tensor> tensors;
    std::vector<bp_node> nodes;
    std::vector<bp_attribute> attributes;
    std::vector<uint32_t> edges;
    bp_graph graph{};
};

namespace {

template <typename T>
bp_span span_of(const std::vector<T>& records) {
    return {records.data(), static_cast<uint32_t>(records.size()), static_cast<uint32_t>(sizeof(T))};
}

bp_tensor data_of(const TensorInfo& from) {
    bp_tensor t{};
    t.struct_size = BP_SIZE(bp_tensor, reserved);
    t.dtype = static_cast<uint32_t>(from.dtype);
    t.role = static_cast<uint32_t>(from.role);
    t.rank = static_cast<uint32_t>(from.shape.size());
    for (uint32_t d = 0; d < t.rank; ++d) t.dim[d] = from.shape[d];
    t.content = from.content;
    if (from.role == Role::constant) t.data = {from.data.data(), from.data.size()};
    t.name = from.name.empty() ? nullptr : from.name.c_str();
    t.state_in = from.state_in;
    return t;
}

bp_attribute data_of(const Attribute& from) {
    bp_attribute a{};
    a.struct_size = BP_SIZE(bp_attribute, integers);
    a.id = static_cast<uint32_t>(from.id);
    if (const auto* integer = std::get_if<int64_t>(&from.value)) {
        a.type = BP_ATTRIBUTE_INT;
        a.integer = *integer;
    } else if (const auto* number = std::get_if<double>(&from.value)) {
        a.type = BP_ATTRIBUTE_FLOAT;
        a.number = *number;
    } else {
        const auto& list = std::get<std::vector<int64_t>>(from.value);
        a.type = BP_ATTRIBUTE_INTS;
        a.integers = {list.data(), list.size() * sizeof(int64_t)};
    }
    return a;
}

}  // namespace

GraphData::GraphData(const Graph& graph) : storage_(std::make_unique<Storage>(graph)) {
    Storage& s = *storage_;
    s.tensors.reserve(s.source.tensors().size());
    s.nodes.reserve(s.source.nodes().size());
    for (const TensorInfo& t : s.source.tensors()) s.tensors.push_back(data_of(t));
    for (const Node& from : s.source.nodes()) {
        bp_node n{};
        n.struct_size = BP_SIZE(bp_node, name);
        n.op = static_cast<uint32_t>(from.op);
        n.input = static_cast<uint32_t>(s.edges.size());
        n.inputs = static_cast<uint32_t>(from.inputs.size());
        for (const TensorId id : from.inputs) s.edges.push_back(id.index);
        n.output = static_cast<uint32_t>(s.edges.size());
        n.outputs = static_cast<uint32_t>(from.outputs.size());
        for (const TensorId id : from.outputs) s.edges.push_back(id.index);
        n.attribute = static_cast<uint32_t>(s.attributes.size());
        n.attributes = static_cast<uint32_t>(from.attributes.size());
        for (const Attribute& a : from.attributes) s.attributes.push_back(data_of(a));
        n.name = from.name.empty() ? nullptr : from.name.c_str();
        s.nodes.push_back(n);
    }
    s.graph.struct_size = BP_SIZE(bp_graph, edges);
    s.graph.tensors = span_of(s.tensors);
    s.graph.nodes = span_of(s.nodes);
    s.graph.attributes = span_of(s.attributes);
    s.graph.symbols = {nullptr, 0, static_cast<uint32_t>(sizeof(bp_symbol))};
    s.graph.edges = span_of(s.edges);
}

GraphData::~GraphData() = default;
GraphData::GraphData(GraphData&&) noexcept = default;
GraphData& GraphData::operator=(GraphData&&) noexcept = default;

const bp_graph* GraphData::get() const noexcept { return &storage_->graph; }

}  // namespace backplane
