#include "cli/bench_run.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <new>
#include <random>

#include "backplane/bench.h"
#include "backplane/runtime.hpp"
#include "cli/cli.hpp"
#include "graph/element_types.hpp"
#include "registry/device_state.hpp"

namespace backplane::cli {

namespace {

// Bytes where every device can use them in place: a copy would be timed with the op.
class AlignedBytes {
public:
    static constexpr std::align_val_t kAlignment{4096};
    explicit AlignedBytes(size_t size) : data_(static_cast<std::byte*>(::operator new(size, kAlignment))), size_(size) {}
    explicit AlignedBytes(const std::vector<std::byte>& from) : AlignedBytes(from.size()) {
        std::copy(from.begin(), from.end(), data_.get());
    }
    [[nodiscard]] std::span<std::byte> span() const { return {data_.get(), size_}; }

private:
    struct Release {
        void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
    };
    std::unique_ptr<std::byte, Release> data_;
    size_t size_;
};

std::vector<std::byte> random_bytes(const TensorInfo& tensor, double range, uint32_t seed) {
    std::mt19937 random(seed);
    const auto count = static_cast<size_t>(elements(tensor.shape));
    if (!graph::has_encoding(tensor.dtype))
        return graph::random_blocks(tensor.dtype, count, range,
                                    [&] { return static_cast<double>(random()) / 4294967296.0; });
    std::vector<double> values(count);
    if (!is_float(tensor.dtype) && !is_block(tensor.dtype)) range = 7;
    for (double& v : values) v = (static_cast<double>(random()) / 4294967296.0 - 0.5) * 2 * range;
    return graph::encode(values, tensor.dtype);
}

// Two times and then as often as is asked for.
template <typename Once>
Timing measure(int least_runs, double least_seconds, Once once) {
    for (int i = 0; i < 2; ++i) once();
    std::vector<double> ms;
    const auto start = std::chrono::steady_clock::now();
    for (auto now = start;
         static_cast<int>(ms.size()) < least_runs || now - start < std::chrono::duration<double>(least_seconds);) {
        const auto before = now;
        once();
        now = std::chrono::steady_clock::now();
        ms.push_back(std::chrono::duration<double, std::milli>(now - before).count());
        if (ms.size() >= 100000) break;
    }
    return {median(ms), *std::min_element(ms.begin(), ms.end()), static_cast<int>(ms.size())};
}

// A GPU lowers its clocks while the host makes random numbers, and takes its time to raise them: it works for a fifth of a second, without gaps.
template <typename Submit>
void warm_up(Submit submit) {
    for (const auto start = std::chrono::steady_clock::now();
         std::chrono::steady_clock::now() - start < std::chrono::milliseconds(200);) {
        for (int i = 0; i < 4; ++i) submit();
        submit().wait();
    }
}

// The bytes of inputs and weights, by name; of copies in one graph the same ("x#3" is a copy of "x").
class Contents {
public:
    explicit Contents(const Graph& graph, double range) {
        for (const TensorInfo& t : graph.tensors())
            if (t.role == Role::input || t.role == Role::weight)
                bytes_.emplace(t.name,
                               random_bytes(t, t.role == Role::input ? range : 0.05, static_cast<uint32_t>(bytes_.size())));
    }
    [[nodiscard]] std::span<const std::byte> operator[](std::string_view name) const {
        return bytes_.find(name.substr(0, name.find('#')))->second.span();
    }

private:
    std::map<std::string, AlignedBytes, std::less<>> bytes_;
};

// Copies of a graph without state, side by side.
Graph several(const Graph& one, int copies) {
    Graph many;
    for (int copy = 0; copy < copies; ++copy) {
        std::vector<TensorId> made(one.tensors().size());
        for (size_t i = 0; i < made.size(); ++i) {
            const TensorInfo& t = one.tensors()[i];
            const std::string name = t.name + "#" + std::to_string(copy);
            if (t.role == Role::input) made[i] = many.input(name, t.dtype, t.shape);
            if (t.role == Role::weight) made[i] = many.weight(name, t.dtype, t.shape);
            if (t.role == Role::constant) made[i] = many.constant(name, t.dtype, t.shape, t.data);
        }
        for (const Node& node : one.nodes()) {
            std::vector<TensorId> inputs;
            for (const TensorId id : node.inputs) inputs.push_back(id == no_tensor ? id : made[id.index]);
            const std::vector<TensorId> outputs = many.add_all(node.op, inputs, node.attributes);
            for (size_t i = 0; i < outputs.size(); ++i) made[node.outputs[i].index] = outputs[i];
        }
        for (const TensorId id : one.with_role(Role::output))
            many.output(made[id.index], one[id].name + "#" + std::to_string(copy));
    }
    return many;
}

// How many copies: enough that a submit is little beside them, and no more than 2 GiB.
int copies_of(const Graph& graph) {
    constexpr uint64_t kMostBytes = uint64_t{1} << 31;
    constexpr uint64_t kMost = 32;
    uint64_t size = 1;
    for (const TensorInfo& t : graph.tensors()) size += bytes(t.dtype, t.shape);
    return graph.with_role(Role::state).empty() ? static_cast<int>(std::clamp<uint64_t>(kMostBytes / size, 1, kMost)) : 1;
}

// Runs whose inputs and outputs stay on the device: each is over when its work is done there.
class ResidentRuns {
public:
    ResidentRuns(Session& session, const Device& device, const Contents& contents, const TimedHow& how)
        : session_(session), how_(how) {
        const Graph& graph = session.graph();
        for (const TensorId id : graph.with_role(Role::input))
            inputs_.emplace_back(graph[id].name,
                                 Tensor::from(device, graph[id].dtype, graph[id].shape, contents[graph[id].name]));
        const std::vector<TensorId> wanted = graph.with_role(Role::output);
        for (const TensorId id : wanted) results_.emplace_back(device, graph[id].dtype, graph[id].shape);
        for (size_t i = 0; i < wanted.size(); ++i) outputs_.emplace_back(graph[wanted[i]].name, &results_[i]);
        warm_up([&] { return submit(); });
    }
    // Of `row` that are handed over before the first is waited for; the time of one.
    [[nodiscard]] Timing time(int row) {
        Timing timing = measure(how_.least_runs, how_.least_seconds, [&] {
            for (int i = 1; i < row; ++i) submit();
            submit().wait();
        });
        timing.median_ms /= row;
        timing.least_ms /= row;
        timing.runs *= row;
        return timing;
    }
    // As many in a row as take some 20 ms.
    static int row_of(const Timing& one) {
        constexpr double kMost = 32, kLongMs = 20;
        return static_cast<int>(std::clamp(kLongMs / std::max(one.median_ms, 1e-3), 2.0, kMost));
    }

private:
    Event submit() { return session_.submit(inputs_, outputs_, how_.cancel); }

    Session& session_;
    const TimedHow& how_;
    std::vector<Input> inputs_;
    std::vector<Tensor> results_;
    std::vector<Output> outputs_;
};

}  // namespace

Timing time_session(Session& session, int least_runs, double least_seconds, const std::atomic<uint32_t>* cancel,
                    double range) {
    const Graph& graph = session.graph();
    std::vector<AlignedBytes> memory;
    std::vector<NamedBytes> inputs;
    std::vector<NamedRoom> outputs;
    for (const TensorId id : graph.with_role(Role::input)) memory.emplace_back(random_bytes(graph[id], range, id.index + 1));
    for (const TensorId id : graph.with_role(Role::output)) memory.emplace_back(bytes(graph[id].dtype, graph[id].shape));
    size_t next = 0;
    for (const TensorId id : graph.with_role(Role::input)) inputs.push_back({graph[id].name, memory[next++].span()});
    for (const TensorId id : graph.with_role(Role::output)) outputs.push_back({graph[id].name, memory[next++].span()});
    return measure(least_runs, least_seconds, [&] { session.run(inputs, outputs, cancel); });
}

Timing time_resident_session(Session& session, const Device& device, int least_runs, double least_seconds,
                             const std::atomic<uint32_t>* cancel, double range) {
    const TimedHow how{.least_runs = least_runs, .least_seconds = least_seconds, .cancel = cancel, .range = range};
    return ResidentRuns(session, device, Contents(session.graph(), range), how).time(1);
}

Timings time_graph(const Device& device, const Graph& graph, const TimedHow& how) {
    CompileOptions options;
    options.math = how.math;
    const Contents contents(graph, how.range);
    const auto weights = [&](std::string_view name) { return contents[name]; };
    Timings timings;
    {
        Session session(device, graph, weights, options);
        timings.host = time_session(session, how.least_runs, how.least_seconds, how.cancel, how.range);
        if (how.timed == Timed::host) return timings;
        ResidentRuns runs(session, device, contents, how);
        timings.resident = runs.time(1);
        if (how.timed == Timed::resident) return timings;
        timings.in_a_row = runs.time(ResidentRuns::row_of(timings.resident));
    }
    const int copies = copies_of(graph);
    Session session(device, several(graph, copies), weights, options);
    ResidentRuns runs(session, device, contents, how);
    // As many graphs in a row: what the host takes to start the first and to learn that the last has ended is little beside them.
    timings.in_graph = runs.time(ResidentRuns::row_of({timings.in_a_row.median_ms * copies}));
    timings.in_graph.median_ms /= copies;
    timings.in_graph.least_ms /= copies;
    timings.in_graph.runs *= copies;
    return timings;
}

Peak measure_peak(const Device& device) {
    const auto* peak = static_cast<const bp_bench_peak*>(device.extension(BP_BENCH_PEAK));
    if (peak == nullptr) return {};
    Device::State& state = *DeviceAccess::state(device);
    return {BP_HAS(peak, gflops) ? peak->gflops(state.handle, BP_F32) : 0,
            BP_HAS(peak, read_gbytes) ? peak->read_gbytes(state.handle) : 0};
}

}  // namespace backplane::cli
