#include "runtime/streamed.hpp"

#include <algorithm>
#include <set>

namespace backplane::runtime {

namespace {

constexpr uint64_t kPlaces = 2;
constexpr uint64_t kPartsOfBudget = 8;  // a part has this part of the budget for its weights, where single weights allow it
constexpr uint64_t kOthersOfBudget =
    4;  // of the budget for everything that is no weight: inputs, outputs, values between, workspace

struct Piece {
    std::vector<size_t> nodes;
    std::set<uint32_t> weights;  // tensors
    uint64_t bytes = 0;          // of these
};

std::vector<Piece> pieces_of(const Graph& graph, uint64_t most) {
    std::vector<Piece> pieces(1);
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
        std::set<uint32_t> fresh;
        uint64_t more = 0;
        for (const TensorId t : graph.nodes()[n].inputs)
            if (t.valid() && graph[t].role == Role::weight && !pieces.back().weights.contains(t.index) &&
                fresh.insert(t.index).second)
                more += bytes(graph[t].dtype, graph[t].shape);
        if (pieces.back().bytes + more > most && !pieces.back().nodes.empty() && more > 0) {
            pieces.emplace_back();
            fresh.clear();
            for (const TensorId t : graph.nodes()[n].inputs)
                if (t.valid() && graph[t].role == Role::weight) fresh.insert(t.index);
        }
        for (const uint32_t t : fresh)
            if (pieces.back().weights.insert(t).second)
                pieces.back().bytes += bytes(graph.tensors()[t].dtype, graph.tensors()[t].shape);
        pieces.back().nodes.push_back(n);
    }
    return pieces;
}

}  // namespace

std::vector<PlannedPart> streamed_parts(const Graph& graph, uint64_t budget) {
    const uint64_t for_weights = budget - budget / kOthersOfBudget;
    uint64_t all = 0;
    for (const TensorId t : graph.with_role(Role::weight)) all += bytes(graph[t].dtype, graph[t].shape);
    if (all <= for_weights) return {};
    const std::vector<Piece> pieces = pieces_of(graph, std::max<uint64_t>(budget / kPartsOfBudget, 1));
    uint64_t most = 0;
    for (const Piece& piece : pieces) most = std::max(most, piece.bytes);
    if (kPlaces * most > for_weights)
        throw Error(Code::no_device_memory, "cannot stream the graph through " + std::to_string(budget) +
                                                " bytes: one node has weights of " + std::to_string(most) +
                                                ", and two places of that size are needed; give it more memory");
    std::vector<PlannedPart> parts;
    uint64_t resident = 0;
    bool prefix = true;
    for (const Piece& piece : pieces) {
        prefix = prefix && resident + piece.bytes <= for_weights - kPlaces * most;
        if (prefix) resident += piece.bytes;
        parts.push_back({{0}, piece.nodes, prefix ? plan::Weights::resident : plan::Weights::streamed});
    }
    return parts;
}

}  // namespace backplane::runtime
