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

// Compiles, warms up with two runs, then measures at least `least_runs` runs and `least_seconds` of time; inputs and weights are
// pseudo-random numbers of `range`, the same each time. Throws Error(unsupported) when the device does not run the graph.
Timing time_graph(const Device& device, const Graph& graph, int least_runs, double least_seconds,
                  const std::atomic<uint32_t>* cancel, double range = 1.0, uint32_t math = BP_MATH_DEFAULT);

// The same, with weights from `source`.
Timing time_session(Session& session, int least_runs, double least_seconds, const std::atomic<uint32_t>* cancel,
                    double range);

// What the device can do at most, measured now; zeros when its module does not say.
struct Peak {
    double gflops = 0, gbytes = 0;
};
Peak measure_peak(const Device& device);

}  // namespace backplane::cli
