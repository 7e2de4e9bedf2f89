#include "graph_copy.hpp"

namespace backplane::reference {

namespace {

template <typename T>
bp_span span_of(const std::vector<T>& records) {
    return {records.data(), static_cast<uint32_t>(records.size()), static_cast<uint32_t>(sizeof(T))};
}

bp_blob keep_blob(std::vector<std::vector<char>>& blobs, const bp_blob& from) {
    if (from.data == nullptr || from.size == 0) return {};
    const auto* data = static_cast<const char*>(from.data);
    blobs.emplace_back(data, data + from.size);
    return {blobs.back().data(), from.size};
}

}  // namespace

GraphCopy::GraphCopy(const bp_graph& from) {
    const sdk::GraphView view(&from);
    view.validate();
    const bp_graph known = sdk::read(&from);
    copy_tensors(view);
    copy_attributes(known.attributes);
    copy_nodes(view);
    for (uint32_t i = 0; i < view.symbols(); ++i) {
        symbols_.push_back(view.symbol(i));
        symbols_.back().struct_size = BP_SIZE(bp_symbol, likely);
    }
    for (uint32_t i = 0; i < known.edges.count; ++i) edges_.push_back(view.edge(i));
    graph_.struct_size = BP_SIZE(bp_graph, edges);
    graph_.tensors = span_of(tensors_);
    graph_.nodes = span_of(nodes_);
    graph_.attributes = span_of(attributes_);
    graph_.symbols = span_of(symbols_);
    graph_.edges = span_of(edges_);
}

void GraphCopy::copy_tensors(const sdk::GraphView& from) {
    for (uint32_t i = 0; i < from.tensors(); ++i) {
        bp_tensor t = from.tensor(i);
        t.struct_size = BP_SIZE(bp_tensor, reserved);
        t.data = keep_blob(blobs_, t.data);
        t.name = keep(t.name);
        tensors_.push_back(t);
    }
}

void GraphCopy::copy_nodes(const sdk::GraphView& from) {
    for (uint32_t i = 0; i < from.nodes(); ++i) {
        bp_node n = from.node(i);
        n.struct_size = BP_SIZE(bp_node, name);
        n.name = keep(n.name);
        nodes_.push_back(n);
    }
}

void GraphCopy::copy_attributes(const bp_span& from) {
    for (uint32_t i = 0; i < from.count; ++i) {
        bp_attribute a = sdk::read(BP_AT(bp_attribute, &from, i));
        a.struct_size = BP_SIZE(bp_attribute, integers);
        a.integers = keep_blob(blobs_, a.integers);
        attributes_.push_back(a);
    }
}

const char* GraphCopy::keep(const char* name) {
    if (name == nullptr) return nullptr;
    return static_cast<const char*>(keep_blob(blobs_, {name, std::string(name).size() + 1}).data);
}

}  // namespace backplane::reference
