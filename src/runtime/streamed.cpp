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
constexpr uint64_t kFew = 6;       // a piece has few weights: so many of those have as many as one has on average
constexpr uint64_t kLittle = 32;   // of the room for weights: for so little more that stays, copies do not go by the work
constexpr double kLong = 2;        // of the work of pieces on average: what has so much is cut behind what has few weights
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

// Bytes that cross: a mask more or less is no reason to cut where parts are unlike.
bool fewer(uint64_t a, uint64_t b) { return a + a / 64 < b; }

void add_node(Piece& piece, const Graph& graph, const Sizes& sizes, size_t n) {
    const Node& node = graph.nodes()[n];
    piece.nodes.push_back(n);
    piece.work += work_of(graph, node);
    for (const TensorId t : node.inputs)
        if (t.valid() && graph[t].role == Role::weight && piece.weights.insert(t.index).second)
            piece.bytes += sizes[t.index];
}

Piece piece_of(const Graph& graph, const Sizes& sizes, size_t begin, size_t end) {
    Piece piece;
    for (size_t n = begin; n < end; ++n) add_node(piece, graph, sizes, n);
    return piece;
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
            const bool may_end = bytes > 0 && begins[n] && (too_much || bytes >= wanted / 2);
            if (may_end && (best == nodes.size() || fewer(crossing[n], crossing[best]) ||
                            (!fewer(crossing[best], crossing[n]) && bytes <= wanted)))
                best = n;
            if (too_much && best != nodes.size()) {
                end = best;
                break;
            }
            bytes += more;
        }
        pieces.push_back(piece_of(graph, sizes, begin, end));
        begin = end;
    }
    return pieces;
}

// Much work with few weights in front of a piece (features of sound, first convolutions) becomes a piece of its own.
void set_apart(std::vector<Piece>& pieces, const Graph& graph, const Sizes& sizes, const std::vector<bool>& begins,
               const std::vector<uint64_t>& crossing) {
    double work = 0;
    uint64_t bytes = 0;
    for (const Piece& piece : pieces) work += piece.work, bytes += piece.bytes;
    const double much = kLong * work / static_cast<double>(pieces.size());
    const uint64_t few = bytes / pieces.size() / kFew;
    for (size_t i = 0; i < pieces.size(); ++i) {
        if (pieces[i].work < much || pieces[i].bytes <= few) continue;
        const size_t first = pieces[i].nodes.front(), end = pieces[i].nodes.back() + 1;
        size_t best = first;
        Piece until;
        for (size_t n = first + 1; n < end; ++n) {
            add_node(until, graph, sizes, n - 1);
            if (until.bytes > few) break;
            if (begins[n] && crossing[n] <= few && until.work >= much / 2) best = n;
        }
        if (best == first) continue;
        pieces[i] = piece_of(graph, sizes, best, end);
        pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(i++), piece_of(graph, sizes, first, best));
    }
}

// Which weights are streamed: so many of kShares of all, a piece's by the work of the piece before, under which its copy goes: then copies are under work
// all the time, the bus does not wait for a place while a long piece is at work, nor the device for the bus. A piece of few weights (features of sound, first
// convolutions) streams none: while it is at work the bus fills both places. A place is as large as the most that a piece streams, which is why none streams
// much more than others do, unless nothing else holds the rest.
class Choice {
public:
    Choice(const std::vector<Piece>& pieces, const Sizes& sizes)
        : pieces_(pieces), sizes_(sizes), is_(sizes.size()), by_work_(pieces.size()), wanted_(pieces.size()) {
        double work = 0;
        for (const Piece& piece : pieces) {
            std::vector<uint32_t>& order = order_.emplace_back(piece.weights.begin(), piece.weights.end());
            std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return sizes[a] > sizes[b]; });
            all_ += static_cast<double>(piece.bytes);
            work += piece.work;
        }
        const double few = all_ / static_cast<double>(pieces.size() * kFew);
        for (const Piece& piece : pieces) is_few_.push_back(static_cast<double>(piece.bytes) <= few);
        const auto next = [&](size_t i) {
            do i = (i + 1) % pieces.size();
            while (is_few_[i]);
            return i;
        };
        for (size_t i = 0; i < pieces.size() && all_ > 0; ++i) {
            const double share = pieces[i].work / std::max(work, 1.0);
            const size_t one = next(i), other = is_few_[i] ? next(one) : one;
            by_work_[one] += share / 2;
            by_work_[other] += share / 2;
        }
        streaming_ = static_cast<double>(std::count(is_few_.begin(), is_few_.end(), false));
    }

    // Not `by_work`: as near as whole weights come to that share of each piece's. Those that are cut alike have the same ones then, whatever values are
    // between them.
    void take(uint64_t share, bool by_work) {
        const double streamed = all_ * static_cast<double>(share) / static_cast<double>(kShares);
        const double most = by_work ? kUneven * streamed / std::max(streaming_, 1.0) : all_;
        if (by_work) share_out(streamed, most);
        resident = place = 0;
        std::fill(is_.begin(), is_.end(), Is::open);
        double due = 0;  // bytes: what is too much or too little in one piece is made good in the next
        for (size_t i = 0; i < pieces_.size(); ++i) {
            due += by_work ? wanted_[i] : streamed * static_cast<double>(pieces_[i].bytes) / std::max(all_, 1.0);
            uint64_t in_place = 0;
            for (const uint32_t t : order_[i]) {
                const auto bytes = static_cast<double>(sizes_[t]);
                const bool goes = bytes / 2 <= due && static_cast<double>(in_place) + bytes <= most && !is_few_[i];
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
    // Sets what is wanted of each piece, by work: at most so much, what is beyond is the others'.
    void share_out(double streamed, double most) {
        for (size_t i = 0; i < wanted_.size(); ++i) wanted_[i] = streamed * by_work_[i];
        for (int k = 0; k < 4; ++k) {
            double beyond = 0, below = 0;
            for (double& bytes : wanted_) {
                beyond += std::max(bytes - most, 0.0);
                bytes = std::min(bytes, most);
                if (bytes < most) below += bytes;
            }
            for (double& bytes : wanted_)
                if (bytes < most && below > 0) bytes += beyond * bytes / below;
        }
    }

    const std::vector<Piece>& pieces_;
    const Sizes& sizes_;
    std::vector<Is> is_;                        // by tensor
    std::vector<std::vector<uint32_t>> order_;  // weights of pieces, largest first
    double all_ = 0;                            // bytes of all pieces
    std::vector<double> by_work_;               // by piece: of all work, what its copy goes under
    std::vector<double> wanted_;                // by piece: bytes, of what is tried now
    std::vector<bool> is_few_;                  // by piece
    double streaming_ = 0;                      // pieces of more weights
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
                most = choice.resident + (is_by_work ? for_weights / kLittle : 0);
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
        set_apart(pieces, graph, sizes, begins, crossing);
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
