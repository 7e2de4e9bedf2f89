// Timing a graph on a device: what the benchmarks share.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "backplane/context.hpp"
#include "backplane/graph.hpp"
#include "backplane/runtime.hpp"

namespace backplane::cli {

struct Timing {
    double median_ms = 0, least_ms = 0;
    int runs = 0;
};

struct Timings {
    Timing host;      // inputs and outputs lie in host memory
    Timing resident;  // they are tensors on the device; no runs, here and below: not asked for
    Timing in_a_row;  // the same, of many that are handed over before the first is waited for: the work without the call
    Timing
        in_graph;  // the same, of copies side by side in one graph, each with operands of its own: the work without the submit
};

// What is timed of a graph: its runs from host to host; those on the device as well, which compare two devices; or all of Timings.
enum class Timed { host, resident, all };

// How a graph is timed: two runs to warm up, then at least `least_runs` runs and `least_seconds` of time. Inputs and weights are pseudo-random
// numbers of `range`, the same each time.
struct TimedHow {
    int least_runs = 5;
    double least_seconds = 0.3;
    const std::atomic<uint32_t>* cancel = nullptr;
    double range = 1.0;
    Math math = Math::standard;
    Timed timed = Timed::host;
};

// Compiles and times. Throws Error(unsupported) when the device does not run the graph.
Timings time_graph(const Device& device, const Graph& graph, const TimedHow& how);

// Of a session with weights of its own, host to host.
Timing time_session(Session& session, int least_runs, double least_seconds, const std::atomic<uint32_t>* cancel,
                    double range);

// The same with inputs and outputs that are tensors on the device: a call and its wait.
Timing time_resident_session(Session& session, const Device& device, int least_runs, double least_seconds,
                             const std::atomic<uint32_t>* cancel, double range);

// What the device can do at most, measured now; zeros when its module does not say.
struct Peak {
    double gflops = 0, gbytes = 0;
};
Peak measure_peak(const Device& device);

}  // namespace backplane::cli
