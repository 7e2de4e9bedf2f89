#include "runtime/layers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "runtime/costs/work.hpp"

namespace backplane::runtime {

namespace {

constexpr double kOperationsOfAByte = 200;  // products in f16 on a card of matrix units beside its memory

// What a crossing, and a part more to begin and to end, cost a pass: a third of a millisecond of such a card.
constexpr double kOperationsOfARound = 2e11;
constexpr double kBatches = 8;     // that are taken to come
constexpr size_t kMostRounds = 2;  // of three and four there is nothing more to gain where a batch is 25 ms

// Of a graph in f16 what is in f32 takes longer than it says: on an H200 what makes a speech network's features takes 2.7 times as long as as many bytes and
// operations of the layers behind it in batches of 16, and 2.2 times in smaller ones. Of a graph in f32 alone it makes no difference.
constexpr double kOfFloats = 2.5;

double work_among(const Graph& graph, const Node& node) {
    const bool floats = !node.outputs.empty() && graph[node.outputs.front()].dtype == DType::f32;
    return work_of(graph, node) * (floats ? kOfFloats : 1);
}

}  // namespace

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

double work_of(const Graph& graph, const Node& node) {
    double bytes = 0;
    const auto count = [&](TensorId t) {
        if (t.valid() && graph[t].role != Role::weight)
            bytes += static_cast<double>(backplane::bytes(graph[t].dtype, graph[t].shape));
    };
    for (const TensorId t : node.inputs) count(t);
    for (const TensorId t : node.outputs) count(t);
    return operations_of(graph, node) + kOperationsOfAByte * bytes;
}

// Of r rounds on n devices work / n / r passes until the last device begins, and each batch costs r - 1 crossings more.
size_t rounds_of(const Graph& graph, size_t devices) {
    double work = 0;
    for (const Node& node : graph.nodes()) work += work_of(graph, node);
    const double best = std::sqrt(work / static_cast<double>(devices) / (kBatches * kOperationsOfARound));
    return std::clamp<size_t>(static_cast<size_t>(best), 1, kMostRounds);
}

std::vector<std::vector<size_t>> layers(const Graph& graph, size_t parts) {
    return layers(graph, std::vector<double>(parts, 1 / static_cast<double>(parts)));
}

std::vector<std::vector<size_t>> layers(const Graph& graph, const std::vector<double>& shares) {
    constexpr double kUneven = 0.05;  // of a part
    const size_t parts = shares.size();
    const size_t count = graph.nodes().size();
    std::vector<double> until(count);  // work up to and with the node
    double sum = 0;
    for (size_t n = 0; n < count; ++n) until[n] = sum += work_among(graph, graph.nodes()[n]);
    const std::vector<uint64_t> crosses = crossing(graph);
    std::vector<std::vector<size_t>> made(parts);
    size_t first = 0;
    double share = 0;
    for (size_t p = 0; p < parts; ++p) {
        share += shares[p];
        size_t end = count - (parts - 1 - p);  // behind the part's last node, at the latest
        if (p + 1 < parts) {
            const double wanted = sum * share;
            const double room = kUneven * sum / static_cast<double>(parts);
            const auto off = [&](size_t n) { return std::abs(until[n] - wanted); };
            size_t nearest = first;
            for (size_t n = first; n < end; ++n)
                if (off(n) < off(nearest)) nearest = n;
            size_t best = nearest;  // of those that cross as little the nearest
            for (size_t n = first; n < end; ++n)
                if (off(n) <= room && std::pair(crosses[n], off(n)) < std::pair(crosses[best], off(best))) best = n;
            end = best + 1;
        }
        made[p].resize(end - first);
        std::iota(made[p].begin(), made[p].end(), first);
        first = end;
    }
    return made;
}

}  // namespace backplane::runtime
