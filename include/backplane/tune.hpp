// Choosing a device by measurement: times a graph on every device of a machine and remembers which is the fastest.
//
//   tune(context, graph, weights);                       // once, or after a driver changed
//   Device device = context.choose(tuned_device(context, graph));   // "" when nothing is remembered: the order of preference
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "backplane/runtime.hpp"

namespace backplane {

struct TuneOptions {
    int runs = 5;                                             // timed, after one that is not
    double seconds = 20;                                      // at most on one device, beyond its first run
    bool software = false;                                    // software rasterisers, too
    std::function<void(const std::string& device)> progress;  // before each; from the calling thread
    const std::atomic<uint32_t>* cancel = nullptr;
};

struct TuneResult {
    std::string device;       // id
    double milliseconds = 0;  // median of a run: inputs copied, computed, outputs copied
    double first_ms = 0;      // compiling, packing weights, first run
    std::string failure;      // why it was not timed; empty: it was
};

// Fastest first, then those that failed. The winner is remembered in the context's state folder for this graph, these devices and their
// drivers; where that cannot be written, it is not, and nothing else is different. Inputs are zero. Throws Error(cancelled), and
// Error(not_found) when no device runs the graph.
std::vector<TuneResult> tune(const Context& context, const Graph& graph, const WeightSource& weights,
                             const TuneOptions& options = {});

// The id of the device that was the fastest; empty: nothing is remembered for this graph and the devices that are here now. Cheap.
std::string tuned_device(const Context& context, const Graph& graph);

}  // namespace backplane
