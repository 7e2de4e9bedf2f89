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
    std::vector<double> values(static_cast<size_t>(elements(tensor.shape)));
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

// Inputs and outputs stay on the device: a run is over when its work is done there.
void time_resident(Session& session, const Device& device, const TimedHow& how, Timings& timings) {
    const Graph& graph = session.graph();
    std::vector<Input> inputs;
    std::vector<Tensor> results;
    for (const TensorId id : graph.with_role(Role::input)) {
        const TensorInfo& info = graph[id];
        inputs.emplace_back(info.name,
                            Tensor::from(device, info.dtype, info.shape, random_bytes(info, how.range, id.index + 1)));
    }
    const std::vector<TensorId> wanted = graph.with_role(Role::output);
    for (const TensorId id : wanted) results.emplace_back(device, graph[id].dtype, graph[id].shape);
    std::vector<Output> outputs;
    for (size_t i = 0; i < wanted.size(); ++i) outputs.emplace_back(graph[wanted[i]].name, &results[i]);
    const auto submit = [&] { return session.submit(inputs, outputs, how.cancel); };
    warm_up(submit);
    timings.resident = measure(how.least_runs, how.least_seconds, [&] { submit().wait(); });
    constexpr double kMost = 32, kLongMs = 20;
    const int row = static_cast<int>(std::clamp(kLongMs / std::max(timings.resident.median_ms, 1e-3), 2.0, kMost));
    timings.in_a_row = measure(how.least_runs, how.least_seconds, [&] {
        for (int i = 1; i < row; ++i) submit();
        submit().wait();
    });
    timings.in_a_row.median_ms /= row;
    timings.in_a_row.least_ms /= row;
    timings.in_a_row.runs *= row;
}

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

Timings time_graph(const Device& device, const Graph& graph, const TimedHow& how) {
    CompileOptions options;
    options.math = how.math;
    std::map<std::string, AlignedBytes, std::less<>> weights;
    for (const TensorId id : graph.with_role(Role::weight))
        weights.emplace(graph[id].name, random_bytes(graph[id], 0.05, id.index + 1));
    Session session(
        device, graph, [&](std::string_view name) { return std::span<const std::byte>(weights.find(name)->second.span()); },
        options);
    Timings timings;
    timings.host = time_session(session, how.least_runs, how.least_seconds, how.cancel, how.range);
    if (how.resident) time_resident(session, device, how, timings);
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
