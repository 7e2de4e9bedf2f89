#include "runtime/layers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace backplane::runtime {

namespace {

constexpr double kOperationsOfAByte = 100;

bool is_set(const Node& node, Attr id) {
    for (const Attribute& attribute : node.attributes)
        if (attribute.id == id)
            if (const auto* number = std::get_if<int64_t>(&attribute.value)) return *number != 0;
    return false;
}

double numbers(const Graph& graph, TensorId id) { return static_cast<double>(elements(graph[id].shape)); }

// Multiplications and additions.
double operations(const Graph& graph, const Node& node) {
    const auto shape = [&](size_t i) -> const Shape& { return graph[node.inputs[i]].shape; };
    const double out = numbers(graph, node.outputs[0]);
    switch (node.op) {
        case Op::matmul:
            return 2 * out * static_cast<double>(shape(0)[shape(0).size() - (is_set(node, Attr::transpose_a) ? 2 : 1)]);
        case Op::conv:
            return 2 * out * numbers(graph, node.inputs[1]) / static_cast<double>(std::max<int64_t>(1, shape(1)[0]));
        case Op::attention: return 4 * out * static_cast<double>(shape(1)[shape(1).size() - 2]);
        default: return 0;
    }
}

// Behind each node, how many bytes that were made up to there are read later.
std::vector<uint64_t> crossing(const Graph& graph) {
    std::vector<size_t> made(graph.tensors().size(), SIZE_MAX), last(graph.tensors().size(), 0);
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
        for (const TensorId t : graph.nodes()[n].outputs) made[t.index] = n;
        for (const TensorId t : graph.nodes()[n].inputs)
            if (t.valid()) last[t.index] = n;
    }
    std::vector<int64_t> change(graph.nodes().size() + 1, 0);
    for (size_t t = 0; t < made.size(); ++t) {
        if (made[t] == SIZE_MAX || last[t] <= made[t]) continue;
        const auto bytes = static_cast<int64_t>(backplane::bytes(graph.tensors()[t].dtype, graph.tensors()[t].shape));
        change[made[t]] += bytes;
        change[last[t]] -= bytes;
    }
    std::vector<uint64_t> all(graph.nodes().size());
    int64_t now = 0;
    for (size_t n = 0; n < all.size(); ++n) all[n] = static_cast<uint64_t>(now += change[n]);
    return all;
}

}  // namespace

double work_of(const Graph& graph, const Node& node) {
    double bytes = 0;
    const auto count = [&](TensorId t) {
        if (t.valid() && graph[t].role != Role::weight)
            bytes += static_cast<double>(backplane::bytes(graph[t].dtype, graph[t].shape));
    };
    for (const TensorId t : node.inputs) count(t);
    for (const TensorId t : node.outputs) count(t);
    return operations(graph, node) + kOperationsOfAByte * bytes;
}

std::vector<std::vector<size_t>> layers(const Graph& graph, size_t parts) {
    constexpr double kUneven = 0.05;  // of a part
    const size_t count = graph.nodes().size();
    std::vector<double> until(count);  // work up to and with the node
    double sum = 0;
    for (size_t n = 0; n < count; ++n) until[n] = sum += work_of(graph, graph.nodes()[n]);
    const std::vector<uint64_t> crosses = crossing(graph);
    std::vector<std::vector<size_t>> made(parts);
    size_t first = 0;
    for (size_t p = 0; p < parts; ++p) {
        size_t end = count - (parts - 1 - p);  // behind the part's last node, at the latest
        if (p + 1 < parts) {
            const double wanted = sum * static_cast<double>(p + 1) / static_cast<double>(parts);
            const double room = kUneven * sum / static_cast<double>(parts);
            size_t nearest = first;
            for (size_t n = first; n < end; ++n)
                if (std::abs(until[n] - wanted) < std::abs(until[nearest] - wanted)) nearest = n;
            size_t best = nearest;
            for (size_t n = first; n < end; ++n)
                if (std::abs(until[n] - wanted) <= room && crosses[n] < crosses[best]) best = n;
            end = best + 1;
        }
        made[p].resize(end - first);
        std::iota(made[p].begin(), made[p].end(), first);
        first = end;
    }
    return made;
}

}  // namespace backplane::runtime
