#include "runtime/streamed.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "runtime/layers.hpp"
#include "runtime/spread/cut.hpp"

namespace backplane::runtime {

namespace {

constexpr uint64_t kPlaces = 2;
// So many parts with as much of the weights each, where single weights and the room for two places allow it: more of them cost time, what the ring
// takes cannot stay.
constexpr uint64_t kParts = 32;
constexpr uint64_t kFewParts = 8;  // unless weights are small beside the values between two parts: so many times those
constexpr uint64_t kWeightsForValues = 4;
constexpr uint64_t kShares = 256;  // of the weights, that may be streamed
constexpr double kUneven = 1.5;    // of what pieces stream on average: the most that one does, where that holds the rest
constexpr int kAttempts = 6;       // each with what the one before was found to take beside weights

struct Piece {
    std::vector<size_t> nodes;
    std::set<uint32_t> weights;  // tensors
    uint64_t bytes = 0;          // of these
    double work = 0;             // of the nodes
};

using Sizes = std::vector<uint64_t>;  // of weights, by tensor

// The node that makes a tensor, moves left out of account; null: none does.
const Node* maker_of(const Graph& graph, const std::vector<size_t>& maker, TensorId t) {
    constexpr Op kMoves[] = {Op::reshape, Op::transpose};
    for (;;) {
        if (maker[t.index] == SIZE_MAX) return nullptr;
        const Node& node = graph.nodes()[maker[t.index]];
        if (std::find(std::begin(kMoves), std::end(kMoves), node.op) == std::end(kMoves)) return &node;
        t = node.inputs[0];
    }
}

// By node, whether a part may begin with it: its input is in memory wherever it is cut. What follows a product (a bias, a scale, an activation) is done by
// the same kernel, in float32, and so is a gate or a mask in front of a convolution; cut off it would begin with numbers that were rounded to the type of
// the feature maps, and results were others.
std::vector<bool> beginnings(const Graph& graph) {
    constexpr Op kOps[] = {Op::matmul, Op::conv, Op::conv_transpose, Op::lstm, Op::gru, Op::gather};
    const std::vector<size_t> maker = makers(graph);
    std::vector<bool> all;
    for (const Node& node : graph.nodes()) {
        bool begins = std::find(std::begin(kOps), std::end(kOps), node.op) != std::end(kOps);
        if (node.op == Op::conv) {
            const Node* before = maker_of(graph, maker, node.inputs[0]);
            begins = before == nullptr || before->op != Op::mul;
        }
        all.push_back(begins);
    }
    return all;
}

// By node: bytes of the values that those before it make and it or later ones read.
std::vector<uint64_t> crossings(const Graph& graph) {
    std::vector<uint64_t> all = crossing(graph);
    all.insert(all.begin(), 0);
    return all;
}

// What weights of a part should be at least: values between parts take memory, too, so of a network of few weights fewer parts, with more of them each.
uint64_t least_of_a_part(const std::vector<bool>& begins, const std::vector<uint64_t>& crossing, uint64_t all) {
    std::vector<uint64_t> between;
    for (size_t n = 0; n < begins.size(); ++n)
        if (begins[n]) between.push_back(crossing[n]);
    if (between.empty()) return 0;
    const auto middle = between.begin() + static_cast<std::ptrdiff_t>(between.size() / 2);
    std::nth_element(between.begin(), middle, between.end());
    return std::min(kWeightsForValues * *middle, all / kFewParts);
}

// In the order of the nodes, with weights of about `wanted` bytes each where single nodes allow it: half of that to half as much again, where the
// fewest bytes are between.
std::vector<Piece> pieces_of(const Graph& graph, const Sizes& sizes, const std::vector<bool>& begins,
                             const std::vector<uint64_t>& crossing, uint64_t wanted) {
    const std::vector<Node>& nodes = graph.nodes();
    std::vector<size_t> in(graph.tensors().size(), 0);  // the piece that a weight was met in last, from 1
    std::vector<Piece> pieces;
    for (size_t begin = 0; begin < nodes.size();) {
        uint64_t bytes = 0;
        size_t end = nodes.size(), best = nodes.size();
        for (size_t n = begin; n < nodes.size(); ++n) {
            uint64_t more = 0;
            for (const TensorId t : nodes[n].inputs) {
                if (!t.valid() || graph[t].role != Role::weight || in[t.index] == pieces.size() + 1) continue;
                in[t.index] = pieces.size() + 1;
                more += sizes[t.index];
            }
            const bool too_much = bytes > 0 && bytes + more > wanted + wanted / 2;
            if (bytes > 0 && begins[n] && (too_much || bytes >= wanted / 2) &&
                (best == nodes.size() || crossing[n] < crossing[best] || (crossing[n] == crossing[best] && bytes <= wanted)))
                best = n;
            if (too_much && best != nodes.size()) {
                end = best;
                break;
            }
            bytes += more;
        }
        Piece& piece = pieces.emplace_back();
        for (size_t n = begin; n < end; ++n) {
            piece.nodes.push_back(n);
            piece.work += work_of(graph, nodes[n]);
            for (const TensorId t : nodes[n].inputs)
                if (t.valid() && graph[t].role == Role::weight && piece.weights.insert(t.index).second)
                    piece.bytes += sizes[t.index];
        }
        begin = end;
    }
    return pieces;
}

// Which weights are streamed: so many of kShares of all, a piece's by the work of the piece before, under which its copy goes: then copies are under work
// all the time, the bus does not wait for a place while a long piece (features of sound, a first convolution) is at work, nor the device for the bus. A
// place is as large as the most that a piece streams, which is why none streams much more than others do, unless nothing else holds the rest.
class Choice {
public:
    Choice(const std::vector<Piece>& pieces, const Sizes& sizes) : pieces_(pieces), sizes_(sizes), is_(sizes.size()) {
        double work = 0;
        for (const Piece& piece : pieces) {
            std::vector<uint32_t>& order = order_.emplace_back(piece.weights.begin(), piece.weights.end());
            std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return sizes[a] > sizes[b]; });
            all_ += static_cast<double>(piece.bytes);
            work += piece.work;
        }
        for (size_t i = 0; i < pieces.size(); ++i)
            by_work_.push_back(pieces[(i + pieces.size() - 1) % pieces.size()].work / std::max(work, 1.0));
    }

    // Not `by_work`: as near as whole weights come to that share of each piece's. Those that are cut alike have the same ones then, whatever values are
    // between them.
    void take(uint64_t share, bool by_work) {
        const double streamed = all_ * static_cast<double>(share) / static_cast<double>(kShares);
        const double most = by_work ? kUneven * streamed / static_cast<double>(pieces_.size()) : all_;
        resident = place = 0;
        std::fill(is_.begin(), is_.end(), Is::open);
        double due = 0;  // bytes: what is too much or too little in one piece is made good in the next
        for (size_t i = 0; i < pieces_.size(); ++i) {
            due += streamed * (by_work ? by_work_[i] : static_cast<double>(pieces_[i].bytes) / std::max(all_, 1.0));
            uint64_t in_place = 0;
            for (const uint32_t t : order_[i]) {
                const auto bytes = static_cast<double>(sizes_[t]);
                const bool goes = bytes / 2 <= due && static_cast<double>(in_place) + bytes <= most;
                if (is_[t] == Is::open) {
                    is_[t] = share == kShares || goes ? Is::streamed : Is::resident;
                    if (is_[t] == Is::resident) resident += sizes_[t];
                }
                if (is_[t] == Is::resident) continue;
                due -= bytes;
                in_place += plan::Ring::in_place(sizes_[t]);
            }
            place = std::max(place, in_place);
        }
    }
    [[nodiscard]] std::set<uint32_t> streamed(size_t piece) const {
        std::set<uint32_t> all;
        for (const uint32_t t : pieces_[piece].weights)
            if (is_[t] == Is::streamed) all.insert(t);
        return all;
    }
    uint64_t resident = 0, place = 0;  // bytes: of all that stay, of the largest place

private:
    enum class Is : uint8_t { open, resident, streamed };
    const std::vector<Piece>& pieces_;
    const Sizes& sizes_;
    std::vector<Is> is_;                        // by tensor
    std::vector<std::vector<uint32_t>> order_;  // weights of pieces, largest first
    double all_ = 0;                            // bytes of all pieces
    std::vector<double> by_work_;               // by piece: the share of the piece before of all work
};

// The least that is streamed where `for_weights` bytes hold the rest; false: they hold none.
bool take_least(Choice& choice, uint64_t for_weights) {
    uint64_t most = 0, share_of_most = 0;
    bool by_work = false;
    for (const bool is_by_work : {true, false})
        for (uint64_t share = 1; share <= kShares; ++share) {
            choice.take(share, is_by_work);
            if (choice.resident + kPlaces * choice.place > for_weights) continue;
            if (share_of_most == 0 || choice.resident > most) {
                most = choice.resident;
                share_of_most = share;
                by_work = is_by_work;
            }
            break;
        }
    if (share_of_most != 0) choice.take(share_of_most, by_work);
    return share_of_most != 0;
}

std::vector<PlannedPart> cut(const Graph& graph, const Sizes& sizes, uint64_t budget, uint64_t for_weights) {
    const uint64_t all = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
    std::vector<Piece> pieces;
    std::optional<Choice> choice;
    const std::vector<uint64_t> crossing = crossings(graph);
    const std::vector<bool> begins = beginnings(graph);
    for (uint64_t wanted = std::max(all / kParts, least_of_a_part(begins, crossing, all)) + 1; !choice;
         wanted -= wanted / 4 + 1) {
        pieces = pieces_of(graph, sizes, begins, crossing, wanted);
        choice.emplace(pieces, sizes);
        if (take_least(*choice, for_weights)) break;
        if (wanted <= *std::max_element(sizes.begin(), sizes.end()) / 2 + 1)
            throw Error(Code::no_device_memory, "cannot stream the graph through " + std::to_string(budget) +
                                                    " bytes: one node has weights of " + std::to_string(choice->place) +
                                                    ", and two places of that size are needed; give it more memory");
        choice.reset();
    }
    std::vector<PlannedPart> parts;
    for (size_t i = 0; i < pieces.size(); ++i) parts.push_back({{0}, std::move(pieces[i].nodes), choice->streamed(i)});
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
        if (others >= budget && attempt > 0) break;
        const uint64_t left = budget - std::min(others, budget);
        // What the whole takes says little of its parts, which may take less: that it leaves next to nothing is no reason to begin with so little.
        const uint64_t for_weights = attempt == 0 && left < budget / 4 ? budget / 2 : left;
        now = {cut(graph, sizes_in(graph, plan), budget, for_weights), for_weights};
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
