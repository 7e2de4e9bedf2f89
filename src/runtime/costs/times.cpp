#include "runtime/costs/times.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/json.hpp"
#include "runtime/costs/work.hpp"
#include "runtime/layers.hpp"

namespace backplane::runtime {

namespace {

const CostCurve& curve_for(const DeviceCosts& costs, const std::string& kind) {
    static const CostCurve none;
    const auto found = costs.ops.find(kind);
    if (found != costs.ops.end()) return found->second;
    // As the same op in f32, else as reading and writing.
    const auto plain = costs.ops.find(kind.substr(0, kind.find(' ')) + " f32");
    if (plain != costs.ops.end()) return plain->second;
    const auto any = costs.ops.find("element-wise f32");
    return any != costs.ops.end() ? any->second : none;
}

// Seconds of each node.
std::vector<double> seconds_of_nodes(const DeviceCosts& costs, const Graph& graph) {
    const double reads = curve_for(costs, "element-wise f32").rate();
    std::vector<double> all;
    for (const Work& work : work_of_nodes(graph)) {
        double seconds = reads > 0 ? work.extra / reads : 0;
        if (!work.kind.empty()) {
            const CostCurve& curve = curve_for(costs, work.kind);
            const double least = reads > 0 ? work.weights / reads : 0;
            seconds += work.times * std::max(curve.seconds(work.amount), work.times > 1 ? 0 : least);
        }
        all.push_back(seconds);
    }
    return all;
}

double bytes_with(const Graph& graph, Role role) {
    double all = 0;
    for (const TensorId id : graph.with_role(role)) all += static_cast<double>(bytes(graph[id].dtype, graph[id].shape));
    return all;
}

}  // namespace

Prediction predicted(const DeviceCosts& costs, const Graph& graph, const Fit& way) {
    Prediction made;
    made.known = true;
    const std::vector<double> nodes = seconds_of_nodes(costs, graph);
    const double in = bytes_with(graph, Role::input), out = bytes_with(graph, Role::output);
    made.ops = std::accumulate(nodes.begin(), nodes.end(), 0.0);
    const double ends = costs.up.seconds(in) + costs.down.seconds(out);
    if (!way.streamed) {
        made.copies = ends;
        made.seconds = costs.run + made.ops + made.copies;
        return made;
    }
    const base::Json plan = way.plan_json.empty() ? base::Json::object() : base::Json::parse(way.plan_json);
    const double stages = plan.contains("stages") ? static_cast<double>(plan["stages"].size()) : 1;
    made.ops += costs.run * stages;
    made.copies = costs.streamed.seconds(std::max(0.0, static_cast<double>(way.moved) - in - out));
    made.seconds = ends + std::max(made.ops, made.copies);
    return made;
}

namespace {

constexpr double kWorthIt = 0.95;  // of the best single device's time: what several must come to
constexpr int kCuts = 48;          // of which the best is taken

uint64_t weights_of(const Graph& graph, const std::vector<size_t>& nodes) {
    std::vector<bool> seen(graph.tensors().size(), false);
    uint64_t all = 0;
    for (const size_t n : nodes)
        for (const TensorId t : graph.nodes()[n].inputs) {
            if (!t.valid() || graph[t].role != Role::weight || seen[t.index]) continue;
            seen[t.index] = true;
            all += bytes(graph[t].dtype, graph[t].shape);
        }
    return all;
}

std::string milliseconds(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*f ms", seconds < 1e-2 ? 2 : 1, 1e3 * seconds);
    return text;
}

class Search {
public:
    Search(const Graph& graph, std::span<const Candidate> candidates, int64_t batches, size_t most_parts)
        : graph_(graph),
          crossing_(crossing(graph)),
          candidates_(candidates),
          batches_(static_cast<double>(std::max<int64_t>(batches, 1))),
          most_parts_(most_parts) {
        for (const TensorId id : graph.with_role(Role::weight)) weights_ += bytes(graph[id].dtype, graph[id].shape);
        for (const Candidate& one : candidates) nodes_.push_back(seconds_of_nodes(*one.costs, graph));
    }
    std::optional<Placement> best() {
        for (uint32_t i = 0; i < candidates_.size(); ++i) {
            const Candidate& one = candidates_[i];
            if (one.seconds && (!best_ || batches_ * *one.seconds < best_->seconds))
                best_ = Placement{{one.device}, {1}, batches_ * *one.seconds, "all on " + one.id, {*one.seconds}};
        }
        if (best_) least_ = best_->seconds * kWorthIt;
        if (most_parts_ < 2 || !graph_.with_role(Role::state).empty()) return best_;
        for (uint32_t a = 0; a < candidates_.size(); ++a)
            for (uint32_t b = 0; b < candidates_.size(); ++b) {
                if (shares_a_chip(a, b)) continue;
                for (int k = 1; k < kCuts; ++k) {
                    const double share = static_cast<double>(k) / kCuts;
                    consider({a, b}, {share, 1 - share});
                }
                for (uint32_t c = 0; most_parts_ > 2 && c < candidates_.size(); ++c)
                    if (!shares_a_chip(a, c) && !shares_a_chip(b, c)) consider({a, b, c}, by_speed({a, b, c}));
            }
        return best_;
    }

private:
    [[nodiscard]] bool shares_a_chip(uint32_t a, uint32_t b) const { return candidates_[a].chip == candidates_[b].chip; }
    [[nodiscard]] double whole(uint32_t i) const {
        return std::accumulate(nodes_[i].begin(), nodes_[i].end(), 0.0) * candidates_[i].learnt;
    }
    [[nodiscard]] std::vector<double> by_speed(const std::vector<uint32_t>& order) const {
        std::vector<double> shares;
        for (const uint32_t i : order) shares.push_back(1 / std::max(whole(i), 1e-9));
        const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
        for (double& share : shares) share /= all;
        return shares;
    }
    // What of the device's memory is not weights stays with each part: its workspace, and what goes in and out.
    [[nodiscard]] bool has_room(uint32_t i, const std::vector<size_t>& nodes) const {
        const Fit* way = candidates_[i].whole;
        if (way == nullptr) return false;
        if (way->available == 0) return true;
        const double share =
            weights_ == 0 ? 0 : static_cast<double>(weights_of(graph_, nodes)) / static_cast<double>(weights_);
        const double needs = static_cast<double>(way->weights) * share + static_cast<double>(way->needs - way->weights);
        return needs <= static_cast<double>(way->available);
    }
    [[nodiscard]] double over(uint32_t from, uint32_t to, double bytes) const {
        const auto link = candidates_[to].costs->from.find(candidates_[from].id);
        if (link != candidates_[to].costs->from.end()) return link->second.seconds(bytes);
        return candidates_[from].costs->down.seconds(bytes) + candidates_[to].costs->up.seconds(bytes);
    }
    void consider(const std::vector<uint32_t>& order, const std::vector<double>& shares) {
        if (graph_.nodes().size() < order.size()) return;
        const std::vector<std::vector<size_t>> parts = layers(graph_, shares);
        double sum = 0, most = 0;
        std::vector<double> by_part;
        for (size_t p = 0; p < parts.size(); ++p) {
            const uint32_t i = order[p];
            if (!has_room(i, parts[p])) return;
            double seconds = candidates_[i].costs->run;
            for (const size_t n : parts[p]) seconds += nodes_[i][n] * candidates_[i].learnt;
            if (p == 0) seconds += candidates_[i].costs->up.seconds(bytes_with(graph_, Role::input));
            if (p > 0) seconds += over(order[p - 1], i, static_cast<double>(crossing_[parts[p - 1].back()]));
            if (p + 1 == parts.size()) seconds += candidates_[i].costs->down.seconds(bytes_with(graph_, Role::output));
            by_part.push_back(seconds);
            sum += seconds;
            most = std::max(most, seconds);
        }
        // One batch after the other goes through; the slowest part sets the pace.
        const double seconds = sum + (batches_ - 1) * most;
        if (best_ && (seconds >= best_->seconds || seconds >= least_)) return;
        Placement made{{}, shares, seconds, {}, by_part};
        for (size_t p = 0; p < order.size(); ++p) {
            made.devices.push_back(candidates_[order[p]].device);
            made.text += (p == 0 ? "layers 1 to " : ", to ") + std::to_string(parts[p].back() + 1) + " on " +
                         candidates_[order[p]].id + " (" + milliseconds(by_part[p]) + ")";
        }
        made.text += " (of " + std::to_string(graph_.nodes().size()) + " nodes)";
        best_ = std::move(made);
    }

    const Graph& graph_;
    std::vector<uint64_t> crossing_;  // bytes behind each node
    std::span<const Candidate> candidates_;
    double batches_;
    size_t most_parts_;
    uint64_t weights_ = 0;
    double least_ = INFINITY;
    std::vector<std::vector<double>> nodes_;  // by candidate
    std::optional<Placement> best_;
};

}  // namespace

std::optional<Placement> placed(const Graph& graph, std::span<const Candidate> candidates, int64_t batches,
                                size_t most_parts) {
    return Search(graph, candidates, batches, most_parts).best();
}

}  // namespace backplane::runtime
