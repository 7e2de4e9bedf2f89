#include "runtime/costs/work.hpp"

#include <algorithm>

#include "backplane/cost.hpp"
#include "backplane/ops/table.hpp"
#include "graph/attributes.hpp"

namespace backplane::runtime {

namespace {

double numbers(const Graph& graph, TensorId id) { return static_cast<double>(elements(graph[id].shape)); }
double size_of(const Graph& graph, TensorId id) { return static_cast<double>(bytes(graph[id].dtype, graph[id].shape)); }

bool is_elementwise(Op op) {
    for (const uint32_t operands : {1U, 2U, 3U})
        if (ops::is_elementwise(static_cast<uint32_t>(op), operands)) return true;
    return op == Op::cast;
}

// Attention of a decoder's step: what it takes is to read what is cached, by as many units as there are heads.
bool is_of_few(const Graph& graph, const Node& node) {
    constexpr int64_t kFew = 4;
    const Shape& queries = graph[node.inputs[0]].shape;
    return queries[queries.size() - 2] <= kFew;
}

const char* kind_of(const Graph& graph, const Node& node) {
    switch (node.op) {
        case Op::matmul: return "product";
        case Op::conv:
        case Op::conv_transpose: {
            const Shape& weight = graph[node.inputs[1]].shape;
            return weight.size() > 1 && weight[1] == 1 && weight[0] > 1 ? "depthwise" : "convolution";
        }
        case Op::attention: return is_of_few(graph, node) ? "query" : "attention";
        case Op::lstm:
        case Op::gru: return "product";
        case Op::softmax:
        case Op::layer_norm: return "reduction";
        case Op::reshape: return "";
        default: break;
    }
    if (is_elementwise(node.op)) return "element-wise";
    if (std::string_view(name_of(node.op)).starts_with("Reduce") ||
        std::string_view(name_of(node.op)).find("Norm") != std::string_view::npos)
        return "reduction";
    return "move";
}

// Of what a node computes in: f16 and bf16 cost alike, whole numbers as f32.
std::string type_of(const Graph& graph, const Node& node, std::string_view kind) {
    if (kind == "product" && node.inputs.size() > 1 && is_block(graph[node.inputs[1]].dtype)) return "q8_0";
    for (const TensorId t : node.inputs)
        if (t.valid() && is_float(graph[t].dtype)) return bytes(graph[t].dtype, {1}) == 2 ? "f16" : "f32";
    return "f32";
}

// The steps that a recurrent layer takes one after the other.
double steps_of(const Graph& graph, const Node& node) {
    return std::max<double>(1, static_cast<double>(graph[node.inputs[0]].shape[0]));
}

Work work_alone(const Graph& graph, const Node& node) {
    Work work;
    const std::string kind = kind_of(graph, node);
    if (kind.empty()) return work;
    work.kind = kind + " " + type_of(graph, node, kind);
    for (const TensorId t : node.inputs)
        if (t.valid() && graph[t].role == Role::weight) work.weights += size_of(graph, t);
    if (node.op == Op::lstm || node.op == Op::gru) {
        work.times = steps_of(graph, node);
        work.amount = operations_of(graph, node) / work.times;
    } else if (DeviceCosts::is_by_operations(kind)) {
        work.amount = operations_of(graph, node);
    } else if (node.op == Op::tensor_scatter && graph[node.inputs[0]].role == Role::state) {
        work.amount = 2 * size_of(graph, node.inputs[1]);  // the rest of the state stays where it stands
    } else {
        for (const TensorId t : node.inputs)
            if (t.valid() && (node.op != Op::gather || t != node.inputs[0])) work.amount += size_of(graph, t);
        for (const TensorId t : node.outputs) work.amount += size_of(graph, t);
    }
    return work;
}

}  // namespace

double operations_of(const Graph& graph, const Node& node) {
    const auto shape = [&](size_t i) -> const Shape& { return graph[node.inputs[i]].shape; };
    const graph::AttributeView attributes(node.attributes);
    const double out = numbers(graph, node.outputs[0]);
    switch (node.op) {
        case Op::matmul:
            return 2 * out *
                   static_cast<double>(shape(0)[shape(0).size() - (attributes.integer(Attr::transpose_a) != 0 ? 2 : 1)]);
        case Op::conv:
            return 2 * out * numbers(graph, node.inputs[1]) / static_cast<double>(std::max<int64_t>(1, shape(1)[0]));
        case Op::conv_transpose:
            return 2 * numbers(graph, node.inputs[0]) * numbers(graph, node.inputs[1]) /
                   static_cast<double>(std::max<int64_t>(1, shape(1)[0]));
        case Op::attention: return 4 * out * static_cast<double>(shape(1)[shape(1).size() - 2]);
        case Op::lstm:
        case Op::gru: {
            double weights = 0;
            for (size_t i = 1; i < std::min<size_t>(node.inputs.size(), 3); ++i)
                if (node.inputs[i].valid()) weights += numbers(graph, node.inputs[i]);
            const double batch = shape(0).size() > 1 ? static_cast<double>(shape(0)[1]) : 1;
            return 2 * weights * batch * steps_of(graph, node);
        }
        default: return 0;
    }
}

std::vector<Work> work_of_nodes(const Graph& graph) {
    const size_t count = graph.nodes().size();
    std::vector<size_t> maker(graph.tensors().size(), count), readers(graph.tensors().size(), 0);
    for (size_t n = 0; n < count; ++n) {
        for (const TensorId t : graph.nodes()[n].inputs)
            if (t.valid()) ++readers[t.index];
        for (const TensorId t : graph.nodes()[n].outputs) maker[t.index] = n;
    }
    std::vector<Work> all;
    all.reserve(count);
    for (const Node& node : graph.nodes()) {
        Work work = work_alone(graph, node);
        const bool joins = work.kind.starts_with("element-wise");
        for (size_t i = 0; joins && i < node.inputs.size(); ++i) {
            const TensorId t = node.inputs[i];
            if (!t.valid() || maker[t.index] == count || readers[t.index] != 1) continue;
            if (elements(graph[t].shape) != elements(graph[node.outputs[0]].shape)) continue;
            if (graph.nodes()[maker[t.index]].op == Op::attention || all[maker[t.index]].kind.starts_with("move")) continue;
            work.extra = work.amount - size_of(graph, t) - size_of(graph, node.outputs[0]);
            work.amount = 0;
            work.weights = 0;
            work.kind.clear();
            break;
        }
        all.push_back(std::move(work));
    }
    return all;
}

}  // namespace backplane::runtime
