#include "runtime/streamed.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace backplane::runtime {

namespace {

constexpr uint64_t kPlaces = 2;
// A part has so much of what is left for weights and of all weights at most, where single weights allow it: what the ring takes cannot stay.
constexpr uint64_t kPartsOfRoom = 8, kPartsOfWeights = 64;
constexpr int kAttempts = 6;  // each with what the one before was found to take beside weights

struct Piece {
    std::vector<size_t> nodes;
    std::set<uint32_t> weights;  // tensors
    uint64_t bytes = 0;          // of these
};

using Sizes = std::vector<uint64_t>;  // of weights, by tensor

// Whether a part may begin with it: its input is in memory wherever it is cut. What follows a product (a bias, a scale, an activation) is done by the same
// kernel, in float32; cut off it would begin with numbers that were rounded to the type of the feature maps, and results were others.
bool may_begin(Op op) {
    constexpr Op kOps[] = {Op::matmul, Op::conv, Op::conv_transpose, Op::lstm, Op::gru, Op::gather};
    return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

std::vector<Piece> pieces_of(const Graph& graph, const Sizes& sizes, uint64_t most) {
    std::vector<Piece> pieces(1);
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
        std::set<uint32_t> all, fresh;
        uint64_t more = 0;
        for (const TensorId t : graph.nodes()[n].inputs) {
            if (!t.valid() || graph[t].role != Role::weight || !all.insert(t.index).second) continue;
            if (pieces.back().weights.contains(t.index)) continue;
            fresh.insert(t.index);
            more += sizes[t.index];
        }
        if (pieces.back().bytes + more > most && !pieces.back().nodes.empty() && more > 0 &&
            may_begin(graph.nodes()[n].op)) {
            pieces.emplace_back();
            fresh = all;
        }
        for (const uint32_t t : fresh) {
            pieces.back().weights.insert(t);
            pieces.back().bytes += sizes[t];
        }
        pieces.back().nodes.push_back(n);
    }
    return pieces;
}

std::vector<PlannedPart> cut(const Graph& graph, const Sizes& sizes, uint64_t budget, uint64_t for_weights) {
    const uint64_t all = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
    const uint64_t wanted = std::min(for_weights / kPartsOfRoom, all / kPartsOfWeights);
    const std::vector<Piece> pieces = pieces_of(graph, sizes, std::max<uint64_t>(wanted, 1));
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

CoreOptions planning(const CompileOptions& options) {
    CoreOptions how;
    how.compile = options;
    how.compile.plan_only = true;
    how.frames = 1;
    return how;
}

// What a ring may have beyond the weights in it: places begin where copies like it.
uint64_t beside_ring(uint64_t ring) { return ring / 64 + 4096; }

// As the device wants them, where the plan says so.
Sizes sizes_in(const Graph& graph, const plan::Plan& plan) {
    std::map<std::string, uint64_t> by_name;
    for (const plan::Value& value : plan.values)
        if (value.kind == plan::Kind::weight) by_name[value.name] = value.bytes;
    Sizes sizes(graph.tensors().size(), 0);
    for (const TensorId t : graph.with_role(Role::weight)) {
        const auto found = by_name.find(graph[t].name);
        sizes[t.index] = found != by_name.end() ? found->second : bytes(graph[t].dtype, graph[t].shape);
    }
    return sizes;
}

}  // namespace

StreamedParts streamed_parts(const Device& device, const Graph& graph, uint64_t budget, const CompileOptions& options) {
    const CoreOptions how = planning(options);
    const Weights none;
    StreamedParts now{{{{0}, {}}}, 0}, best;
    uint64_t takes = 0, best_resident = 0;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        const SessionCore core({device}, graph, none, now.parts, how);
        const plan::Plan& plan = core.plan();
        takes = plan.bytes_on(0);
        if (takes <= budget) {
            if (attempt == 0) return {};
            // What it takes beside weights was taken for more or less than it is: once more, and the better of the two.
            const bool again = best.parts.empty();
            if (again || plan.weight_bytes(0) > best_resident) {
                best = now;
                best_resident = plan.weight_bytes(0);
            }
            if (!again) return best;
        } else if (!best.parts.empty()) {
            return best;
        }
        const uint64_t others =
            takes - plan.weight_bytes(0) - plan.ring_bytes(0) + (attempt > 0 ? beside_ring(plan.ring_bytes(0)) : 0);
        if (others >= budget) break;
        now = {cut(graph, sizes_in(graph, plan), budget, budget - others), budget - others};
    }
    if (!best.parts.empty()) return best;
    throw Error(Code::no_device_memory, "cannot run the graph in " + std::to_string(budget) + " bytes of " +
                                            device.info().id + ": it takes " + std::to_string(takes) +
                                            "; give it that many");
}

std::vector<PlannedPart> parts_for_weights(const Device& device, const Graph& graph, uint64_t weight_budget,
                                           const CompileOptions& options) {
    const Weights none;
    const SessionCore core({device}, graph, none, {{{0}, {}}}, planning(options));
    if (core.plan().weight_bytes(0) <= weight_budget) return {};
    return cut(graph, sizes_in(graph, core.plan()), weight_budget, weight_budget);
}

}  // namespace backplane::runtime
