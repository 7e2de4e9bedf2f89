#include "runtime/costs/measure.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>

#include "backplane/runtime.hpp"
#include "base/elapsed.hpp"
#include "graph/element_types.hpp"
#include "runtime/costs/work.hpp"

namespace backplane::runtime {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kInARow = 8;           // ops of a graph that is timed, each on what the one before made
constexpr size_t kSizes = 5;         // of a kind of op, each about eight times the work of the one before
constexpr double kLongest = 4e-3;    // seconds of an op: a larger one says nothing more
constexpr double kRepeated = 30e-3;  // seconds that one graph is run for
constexpr int kMostRuns = 20;
constexpr double kSlow = 0.1;    // seconds of a run
constexpr double kWarm = 0.2;    // seconds of work before anything counts: clocks that were low at rest
constexpr double kLeast = 1e-8;  // seconds; what is less is lost in noise

// Bytes whose numbers neither grow nor fade along the ops of a graph; not zero, of which a device might make less work.
std::vector<std::byte> filled(const TensorInfo& tensor, double value) {
    const auto count = static_cast<size_t>(elements(tensor.shape));
    if (!graph::has_encoding(tensor.dtype)) return graph::random_blocks(tensor.dtype, count, value, [] { return 0.5; });
    constexpr size_t kGroup = 256;  // whole blocks of any type that is encoded
    const std::vector<std::byte> some = graph::encode(std::vector<double>(std::min(count, kGroup), value), tensor.dtype);
    if (count <= kGroup || count % kGroup != 0) return graph::encode(std::vector<double>(count, value), tensor.dtype);
    std::vector<std::byte> all;
    all.reserve(some.size() * (count / kGroup));
    for (size_t i = 0; i < count / kGroup; ++i) all.insert(all.end(), some.begin(), some.end());
    return all;
}

// What may be spent. Kinds that take less than their share leave it to those behind them.
class Allowance {
public:
    explicit Allowance(double seconds) : seconds_(seconds) {}
    [[nodiscard]] bool is_spent(double share = 1) const { return base::seconds_since(start_) >= share * seconds_; }

private:
    Clock::time_point start_ = Clock::now();
    double seconds_;
};

// A graph with its weights, run on one device.
class Timed {
public:
    enum class Where { device, host };
    Timed(const Device& device, const Graph& graph, Where inputs, Where outputs, const SessionOptions& options = {})
        : session_({device}, graph, weights_of(graph), options) {
        for (const TensorId id : graph.with_role(Role::input)) {
            const TensorInfo& info = graph[id];
            given_.push_back(filled(info, 0.5));
            if (inputs == Where::device)
                inputs_.emplace_back(info.name, Tensor::from(device, info.dtype, info.shape, given_.back()));
            else
                inputs_.emplace_back(info.name, std::span<const std::byte>(given_.back()));
        }
        const std::vector<TensorId> wanted = graph.with_role(Role::output);
        results_.resize(wanted.size());
        for (size_t i = 0; i < wanted.size(); ++i) {
            const TensorInfo& info = graph[wanted[i]];
            if (outputs == Where::device) {
                results_[i] = Tensor(device, info.dtype, info.shape);
                outputs_.emplace_back(info.name, &results_[i]);
            } else {
                taken_.emplace_back(bytes(info.dtype, info.shape));
                outputs_.emplace_back(info.name, std::span(taken_.back()));
            }
        }
    }
    void give(size_t input, const Tensor& tensor) { inputs_[input] = Input(inputs_[input].name, tensor); }
    [[nodiscard]] const Session& session() const { return session_; }

    // Of a run, the shortest.
    double seconds(const CostOptions& options, double warm = 0) {
        const Clock::time_point first = Clock::now();
        run(options);
        // A device so slow is as slow the second time.
        const bool slow = base::seconds_since(first) > kSlow;
        if (!slow) run(options);
        while (!slow && base::seconds_since(first) < warm) run(options);
        double least = 1e9;
        const Clock::time_point start = Clock::now();
        for (int k = 0; k < kMostRuns && (k < (slow ? 1 : 3) || base::seconds_since(start) < kRepeated); ++k) {
            const Clock::time_point one = Clock::now();
            run(options);
            least = std::min(least, base::seconds_since(one));
        }
        return least;
    }

private:
    void run(const CostOptions& options) {
        if (options.cancel != nullptr && *options.cancel != 0)
            throw Error(Code::cancelled, "measuring what work costs was cancelled");
        session_.run(inputs_, outputs_, options.cancel);
    }
    Weights weights_of(const Graph& graph) {
        const std::vector<TensorId> weights = graph.with_role(Role::weight);
        if (!weights.empty()) {
            const TensorInfo& info = graph[weights.front()];
            const double reads = static_cast<double>(elements(info.shape)) / static_cast<double>(info.shape[0]);
            content_ = filled(info, 1 / std::max(1.0, reads));
        }
        return Weights([this](std::string_view) -> std::span<const std::byte> { return content_; });
    }

    std::vector<std::byte> content_;  // of each weight: those of a graph are alike
    Session session_;
    std::vector<std::vector<std::byte>> given_, taken_;
    std::vector<Input> inputs_;
    std::vector<Tensor> results_;
    std::vector<Output> outputs_;
};

// So many ops of a kind behind each other, of the size-th size. Each has a weight of its own, as in networks: what several ops read may not be packed for
// any of them.
struct Kind {
    const char* name;
    DType maps, weight;
    Graph (*graph)(DType maps, DType weight, size_t size, int ops);
};

std::string weight_name(int op) { return "w" + std::to_string(op); }

Graph products(DType maps, DType weight, size_t size, int ops) {
    constexpr std::array<std::pair<int64_t, int64_t>, kSizes> kRowsAndWidth{
        {{16, 256}, {128, 512}, {512, 1024}, {2048, 2048}, {8192, 2048}}};
    const auto [rows, width] = kRowsAndWidth[size];
    Graph g;
    TensorId x = g.input("x", maps, {rows, width});
    for (int k = 0; k < ops; ++k)
        x = g.add(Op::matmul, {x, g.weight(weight_name(k), weight, {width, width})}, {{Attr::transpose_b, 1}});
    g.output(x, "y");
    return g;
}

Graph convolutions(DType maps, DType weight, size_t size, int ops) {
    constexpr std::array<int64_t, kSizes> kExtent{8, 32, 96, 256, 512};
    constexpr int64_t kChannels = 64;
    Graph g;
    TensorId x = g.input("x", maps, {1, kChannels, kExtent[size], kExtent[size]});
    for (int k = 0; k < ops; ++k)
        x = g.add(Op::conv, {x, g.weight(weight_name(k), weight, {kChannels, kChannels, 3, 3})},
                  {{Attr::pads, {1, 1, 1, 1}}});
    g.output(x, "y");
    return g;
}

Graph depthwise(DType maps, DType weight, size_t size, int ops) {
    constexpr std::array<int64_t, kSizes> kLength{64, 512, 4096, 32768, 131072};
    constexpr int64_t kChannels = 256, kWindow = 9;
    Graph g;
    TensorId x = g.input("x", maps, {1, kChannels, 1, kLength[size]});
    for (int k = 0; k < ops; ++k)
        x = g.add(Op::conv, {x, g.weight(weight_name(k), weight, {kChannels, 1, 1, kWindow})},
                  {{Attr::pads, {0, kWindow / 2, 0, kWindow / 2}}, {Attr::group, kChannels}});
    g.output(x, "y");
    return g;
}

Graph attentions(DType maps, DType, size_t size, int ops) {
    constexpr std::array<int64_t, kSizes> kLength{64, 192, 512, 1536, 4096};
    const Shape shape{1, 8, kLength[size], 64};
    Graph g;
    TensorId x = g.input("q", maps, shape);
    const TensorId k = g.input("k", maps, shape), v = g.input("v", maps, shape);
    for (int i = 0; i < ops; ++i) x = g.add(Op::attention, {x, k, v});
    g.output(x, "y");
    return g;
}

Graph queries(DType maps, DType, size_t size, int ops) {
    constexpr std::array<int64_t, kSizes> kCached{64, 512, 2048, 8192, 32768};
    constexpr int64_t kHeads = 8, kHead = 64;
    Graph g;
    TensorId x = g.input("q", maps, {1, kHeads, 1, kHead});
    const Shape cached{1, kHeads, kCached[size], kHead};
    const TensorId k = g.input("k", maps, cached), v = g.input("v", maps, cached);
    for (int i = 0; i < ops; ++i) x = g.add(Op::attention, {x, k, v});
    g.output(x, "y");
    return g;
}

constexpr std::array<int64_t, kSizes> kRows{8, 64, 512, 4096, 16384};  // of kWide numbers
constexpr int64_t kWide = 512;

// Each operand is another input: what a kernel reads, it reads once.
Graph sums(DType maps, DType, size_t size, int ops) {
    Graph g;
    TensorId x = g.input("x", maps, {kRows[size], kWide});
    for (int k = 0; k < ops; ++k) x = g.add(Op::mul, {x, g.input("y" + std::to_string(k), maps, {kRows[size], kWide})});
    g.output(x, "y");
    return g;
}

Graph reductions(DType maps, DType, size_t size, int ops) {
    Graph g;
    TensorId x = g.input("x", maps, {kRows[size], kWide});
    for (int k = 0; k < ops; ++k) x = g.add(Op::softmax, {x});
    g.output(x, "y");
    return g;
}

// A reduction between any two: what only turns names of axes around would be done once.
Graph moves(DType maps, DType, size_t size, int ops) {
    Graph g;
    TensorId x = g.input("x", maps, {kRows[size], kWide});
    for (int k = 0; k < ops; ++k) x = g.add(Op::softmax, {g.add(Op::transpose, {x}, {{Attr::perm, {1, 0}}})});
    g.output(x, "y");
    return g;
}

// What computes in f32 comes first, as it stands for the others where these were not measured.
constexpr Kind kKinds[] = {
    {"product f32", DType::f32, DType::f32, products},
    {"convolution f32", DType::f32, DType::f32, convolutions},
    {"depthwise f32", DType::f32, DType::f32, depthwise},
    {"attention f32", DType::f32, DType::f32, attentions},
    {"query f32", DType::f32, DType::f32, queries},
    {"element-wise f32", DType::f32, DType::f32, sums},
    {"reduction f32", DType::f32, DType::f32, reductions},
    {"move f32", DType::f32, DType::f32, moves},
    {"product f16", DType::f16, DType::f16, products},
    {"product q8_0", DType::f32, DType::q8_0, products},
    {"convolution f16", DType::f16, DType::f16, convolutions},
    {"depthwise f16", DType::f16, DType::f16, depthwise},
    {"attention f16", DType::f16, DType::f16, attentions},
    {"query f16", DType::f16, DType::f16, queries},
    {"element-wise f16", DType::f16, DType::f16, sums},
    {"reduction f16", DType::f16, DType::f16, reductions},
    {"move f16", DType::f16, DType::f16, moves},
};

using CurvePoints = std::map<double, double>;  // seconds by work

void add(CostCurve& curve, double work, double seconds) {
    if (!curve.points.empty() && work <= curve.points.back().work) return;
    // More work is not done sooner: that is noise.
    const double least = curve.points.empty() ? kLeast : curve.points.back().seconds;
    curve.points.push_back({work, std::max(seconds, least)});
}

// Operations of one of the ops, or bytes that it reads and writes.
double work_of_one(const Graph& graph, std::string_view name, int ops) {
    double all = 0;
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
        const Node& node = graph.nodes()[n];
        if (DeviceCosts::is_by_operations(name)) {
            all += operations_of(graph, node);
            continue;
        }
        if (name.starts_with("move") && node.op != Op::transpose) continue;
        const TensorId from = name.starts_with("element-wise") ? node.inputs[1] : node.inputs[0];
        all += static_cast<double>(bytes(graph[from].dtype, graph[from].shape));
        if (name.starts_with("query"))
            for (const TensorId cached : {node.inputs[1], node.inputs[2]})
                all += static_cast<double>(bytes(graph[cached].dtype, graph[cached].shape));
        if (name.starts_with("element-wise")) continue;
        all += static_cast<double>(bytes(graph[node.outputs[0]].dtype, graph[node.outputs[0]].shape));
    }
    return all / ops;
}

// A larger op that is done at half the rate of a smaller one, or sooner than it, was measured beside something else, or the smaller one was.
bool is_doubtful(double work, double seconds, const CurvePoints& known) {
    const auto above = known.lower_bound(work);
    if (above == known.begin()) return false;
    const auto& [less, before] = *std::prev(above);
    return seconds < before || seconds / work > 2 * before / less;
}

struct OneSize {
    double work = 0, seconds = 0;  // of an op
    double share = 0;              // of the run that it was measured in
};

OneSize measured_size(const Kind& kind, size_t size, const Device& device, DeviceCosts& costs, const CurvePoints& known,
                      const CostOptions& options) {
    using Where = Timed::Where;
    const Graph graph = kind.graph(kind.maps, kind.weight, size, kInARow);
    Timed many(device, graph, Where::device, Where::device);
    const bool is_first = costs.run == 0;
    double all = many.seconds(options, is_first ? kWarm : 0);
    if (is_first) {  // the first kind, at its smallest: what is not the ops'
        Timed one(device, kind.graph(kind.maps, kind.weight, size, 1), Where::device, Where::device);
        double alone = one.seconds(options);
        for (int again = 0; again < 2; ++again) {  // in turns: the difference is small
            all = std::min(all, many.seconds(options));
            alone = std::min(alone, one.seconds(options));
        }
        costs.run = std::max(kLeast, (kInARow * alone - all) / (kInARow - 1));
    }
    const double work = work_of_one(graph, kind.name, kInARow);
    if (is_doubtful(work, (all - costs.run) / kInARow, known)) all = std::min(all, many.seconds(options));
    double seconds = (all - costs.run) / kInARow;
    if (kind.graph == moves) seconds -= costs.ops[kind.maps == DType::f32 ? "reduction f32" : "reduction f16"].seconds(work);
    return {work, seconds, all / kInARow};
}

// `share`: of what may be spent, up to the end of this kind. The smallest size and one in the middle say most, and are measured whatever is left.
CostCurve curve_of(const Kind& kind, const Device& device, DeviceCosts& costs, const CostOptions& options,
                   const Allowance& allowance, double share) {
    constexpr std::array<size_t, kSizes> kInOrder{0, 2, 1, 3, 4};
    CurvePoints points;
    size_t most = kSizes;
    for (size_t i = 0; i < kSizes; ++i) {
        if (i >= 2 && allowance.is_spent(share)) break;
        if (kInOrder[i] > most) continue;
        const OneSize one = measured_size(kind, kInOrder[i], device, costs, points, options);
        points[one.work] = one.seconds;
        if (one.share > kLongest) most = kInOrder[i];
    }
    CostCurve curve;
    for (const auto& [work, seconds] : points) add(curve, work, seconds);
    return curve;
}

// Copies of inputs, outputs and of tensors of other devices: beside the same run whose tensors are there.
void measure_copies(const Device& device, const std::vector<Device>& others, DeviceCosts& costs, const CostOptions& options,
                    const Allowance& allowance) {
    using Where = Timed::Where;
    constexpr int64_t kLarge = int64_t{1} << 22;
    for (const int64_t count : {int64_t{1} << 14, int64_t{1} << 18, kLarge}) {
        if (count == kLarge && allowance.is_spent()) return;
        const auto work = static_cast<double>(bytes(DType::f32, {count}));
        Graph g;
        g.output(g.add(Op::relu, {g.input("x", DType::f32, {count})}), "y");
        Timed there(device, g, Where::device, Where::device);
        const double alone = there.seconds(options);
        add(costs.up, work, Timed(device, g, Where::host, Where::device).seconds(options) - alone);
        add(costs.down, work, Timed(device, g, Where::device, Where::host).seconds(options) - alone);
        for (const Device& other : others) {
            if (other == device) continue;
            there.give(0, Tensor::from(other, DType::f32, {count}, filled(g[g.with_role(Role::input)[0]], 0.5)));
            add(costs.from[other.info().id], work, there.seconds(options) - alone);
        }
    }
}

// Products of few rows with weights that are all copied for the run: nothing but copies.
void measure_streaming(const Device& device, DeviceCosts& costs, const CostOptions& options) {
    constexpr int64_t kWidth = 2048;
    constexpr int kWeights = 8;
    Graph g;
    TensorId x = g.input("x", DType::f32, {1, kWidth});
    for (int k = 0; k < kWeights; ++k)
        x = g.add(Op::matmul, {x, g.weight("w" + std::to_string(k), DType::f32, {kWidth, kWidth})});
    g.output(x, "y");
    SessionOptions how;
    how.streaming = Streaming::always;
    FitOptions fit;
    fit.streaming = Streaming::always;
    const std::vector<Fit> ways = fits({device}, g, fit);
    const Fit* way = best_fit(ways, Streaming::always);
    if (way == nullptr || way->moved == 0) return;
    Timed timed(device, g, Timed::Where::device, Timed::Where::device, how);
    add(costs.streamed, static_cast<double>(way->moved), timed.seconds(options));
}

}  // namespace

DeviceCosts measured_costs(const Device& device, const std::vector<Device>& others, const CostOptions& options) {
    DeviceCosts costs;
    const Allowance allowance(options.seconds);
    constexpr double kAll = static_cast<double>(std::size(kKinds) + 2);  // and copies, and streamed weights
    double done = 0;
    const auto attempt = [&](const std::string& what, const auto& body) {
        if (options.progress) options.progress(what, done / kAll);
        ++done;
        try {
            body();
        } catch (const Error& error) {
            // What a device does not do, or has no room for, has no cost there.
            if (error.code() == Code::cancelled || error.code() == Code::device_lost) throw;
        }
    };
    for (const Kind& kind : kKinds)
        attempt(kind.name, [&] {
            const bool others_stand_in = !std::string_view(kind.name).ends_with(" f32");
            if (others_stand_in && allowance.is_spent()) return;
            const CostCurve curve = curve_of(kind, device, costs, options, allowance, done / kAll);
            if (!curve.points.empty()) costs.ops[kind.name] = curve;
        });
    attempt("copies", [&] { measure_copies(device, others, costs, options, allowance); });
    attempt("streamed weights", [&] { measure_streaming(device, costs, options); });
    return costs;
}

}  // namespace backplane::runtime
