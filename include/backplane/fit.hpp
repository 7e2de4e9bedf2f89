// Whether a graph fits into the memory of devices, and what would: known to the byte before any weight is read.
//
//   const std::vector<Fit> ways = fits(context.choose_with_fallback(), graph);
//   const Fit* way = best_fit(ways);
//   if (way == nullptr) throw Error(Code::no_device_memory, what_would_fit(ways));
//   SessionOptions options;
//   options.budget = way->streamed ? way->budget : 0;
//   Session session({context.choose(way->device)}, graph, Weights(weights), options);   // does what way->plan_text says
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backplane/runtime.hpp"

namespace backplane {

struct FitOptions {
    CompileOptions compile;  // plan_only is set
    Streaming streaming = Streaming::automatic;
    // By device id: bytes that may be used there, in place of what the device says.
    std::map<std::string, uint64_t> memory;
};

// One way to run the whole graph on one device, one submit at a time.
struct Fit {
    std::string device;  // id
    bool streamed = false;
    bool fits = false;
    bool possible = true;  // false: the device does not run the graph, or no memory would do; `problem` says why
    std::string problem;
    uint64_t available = 0;  // bytes of the device; 0: it does not say
    uint64_t budget =
        0;  // streamed: SessionOptions::budget that makes this plan; where it does not fit, the least that would
    uint64_t weight_budget =
        0;  // streamed and fits: SessionOptions::weight_budget of this plan, for other sizes of the network
    // Bytes of the device: of all, and by what they are for.
    uint64_t needs = 0, weights = 0, ring = 0, state = 0, values = 0, workspace = 0;
    uint64_t moved = 0;                // bytes over the device's edge for each run, streamed weights included
    std::string plan_text, plan_json;  // as Session::describe() and plan_json()
};

// Each device with all weights there and, unless `streaming` says never, with weights streamed; in the order of the devices. What a device has:
// what it says is available, less a sixteenth for what drivers take beside, at most what limit_memory() leaves, and less what this process holds, but
// for weights of sessions that do not run: they go when others need the memory.
// Compiles for each way, reads no weight and takes no memory of a device. Throws Error: invalid without a device, cancelled, device_lost.
[[nodiscard]] std::vector<Fit> fits(const std::vector<Device>& devices, const Graph& graph, const FitOptions& options = {});

// The first device that has all weights in it, else the first way that fits; with Streaming::always the first streamed one. Null: none fits.
[[nodiscard]] const Fit* best_fit(std::span<const Fit> ways, Streaming streaming = Streaming::automatic);

// What each device would need, in one sentence: "needs 3.1 GiB on vulkan:0, 2.2 GiB are free; streamed 1.1 GiB; on cpu:0 7.0 GiB, which is there".
[[nodiscard]] std::string what_would_fit(std::span<const Fit> ways);
// The same, and what those of the network in f16 would take, where that is less: "...; with dtype f16 58.1 MiB on cuda:0, which is there".
[[nodiscard]] std::string what_would_fit(std::span<const Fit> ways, std::span<const Fit> in_f16);

}  // namespace backplane
