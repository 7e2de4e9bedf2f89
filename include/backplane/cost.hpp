// What work costs on the devices of a machine, measured once and remembered, and what a run would take by that: known before anything runs.
//
//   CostModel costs(context);
//   if (costs.of(device) == nullptr) costs.measure(device);                   // seconds
//   const Fit way = *best_fit(fits({device}, graph));
//   const Prediction time = costs.predict(device, graph, way);
//   std::printf("about %.1f ms\n", 1e3 * time.seconds);
//   costs.learn(device, graph, way, taken);                                   // seconds of a run: the next prediction for this network is nearer
//
// A prediction adds up the ops: each kind of them has a curve of time over work for each element type. What shapes and fusion make of a network beside that
// is what learn() is for: of each network (its ops and weights) and each size of its input it keeps what the last three runs took. One size says what
// others take in proportion, two of them what is between and beyond.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backplane/fit.hpp"
#include "backplane/runtime.hpp"

namespace backplane {

// Time over work: floating-point operations of products, convolutions and attention, bytes read and written of all else. Straight between points; below the
// first what begins at the fixed cost, above the last at its rate.
struct CostCurve {
    struct Point {
        double work = 0, seconds = 0;
    };
    std::vector<Point> points;                        // ascending in work, seconds above 0
    [[nodiscard]] double seconds(double work) const;  // 0 without points
    [[nodiscard]] double fixed() const;               // seconds, at no work
    [[nodiscard]] double rate() const;                // work a second, sustained: of the last point; 0 without points
    [[nodiscard]] bool valid() const noexcept;        // what is read of a file is looked at
};

struct DeviceCosts {
    int64_t measured = 0;                   // seconds since 1970
    double run = 0;                         // seconds of a run beside its ops
    std::map<std::string, CostCurve> ops;   // "product f16", "element-wise f32", ...
    CostCurve up, down;                     // inputs from the host's memory, outputs to it; bytes
    CostCurve streamed;                     // weights of a run that are copied for it; bytes
    std::map<std::string, CostCurve> from;  // tensors of another device of this machine, by its id; bytes

    // Is a kind of `ops` counted in operations? All others are in bytes.
    [[nodiscard]] static bool is_by_operations(std::string_view kind);
};

// Of one run, one submit at a time, from host memory to host memory.
struct Prediction {
    double seconds = 0;
    double ops = 0,
           copies = 0;  // of these: work of the device; what crosses its edge. Streamed weights cross while it is at work
    double learnt =
        1;  // measured over predicted of runs of this network, in both of them; where none was measured, of three others or more; else 1
    size_t runs = 0;      // of this network by which it is corrected, as far as they are kept
    size_t networks = 0;  // others by which it is; 0 where runs of its own are known
    bool known = false;   // the device was measured; false: all else is 0
};

struct CostOptions {
    std::function<void(const std::string& what, double done)>
        progress;  // before each kind of op, 0 to 1 of all done; from the calling thread
    const std::atomic<uint32_t>* cancel = nullptr;
    // About so many may be spent, on a device that builds kernels for long or a machine that does much beside: then of each kind of op in f32 two sizes are
    // measured in place of five, and others are taken to cost what those in f32 do.
    double seconds = 20;
};

// By costs that are told, with nothing learnt.
[[nodiscard]] Prediction predict(const DeviceCosts& costs, const Graph& graph, const Fit& way);

// Where a component would be: the parts of its layers in the order of running.
struct Placement {
    std::vector<uint32_t> devices;  // indices into the devices that were asked about
    std::vector<double> shares;     // of the work, by part; sums to 1 (SessionOptions::shares)
    double seconds = 0;             // of all batches
    std::string text;               // a line: what, and how long a batch is there
    std::vector<double> by_part;    // seconds of a batch, with what crosses to each part
};

// Remembered in the state folder of the context (docs/several-devices.md), under the device's identity, driver, features and module; what is damaged there
// is as good as not there, and the log says so, once a file. One thread at a time.
class CostModel {
public:
    explicit CostModel(const Context& context);
    ~CostModel();
    CostModel(CostModel&&) noexcept;
    CostModel& operator=(CostModel&&) noexcept;

    // Null: it was not measured, or with another driver. Valid until the device is measured anew. Of each device what is kept is read once, as long as it is
    // open; models of one context share it, and what any of them learns or measures.
    [[nodiscard]] const DeviceCosts* of(const Device& device) const;
    // Runs small graphs of its own on the device, beside nothing else if it is to be true, and remembers what they took. `others`: devices whose tensors it
    // will be given. Throws Error(cancelled), device_lost.
    const DeviceCosts& measure(const Device& device, const std::vector<Device>& others = {},
                               const CostOptions& options = {});
    // Of the graph on the device, as the way says: with its weights there, or streamed.
    [[nodiscard]] Prediction predict(const Device& device, const Graph& graph, const Fit& way) const;
    // What a run took from call to return. Of the last three of a size the median counts, of two the shorter one: a run beside others, or one figure that
    // was measured so, says nothing wrong for long.
    void learn(const Device& device, const Graph& graph, const Fit& way, double seconds);
    // Which of the devices, that were measured, would be done with so many batches of the graph first: one of them alone, or up to so many that take
    // a part of its layers each, cut where few bytes cross, no two of them on one chip. `ways`: of each device the one that best_fit() has for it alone.
    // Never what is slower by prediction than the best single device; several only where they save a twentieth, or where no device has room alone.
    // Nothing where nothing fits or nothing is known.
    [[nodiscard]] std::optional<Placement> place(const std::vector<Device>& devices, const Graph& graph,
                                                 const std::vector<std::vector<Fit>>& ways, int64_t batches,
                                                 size_t most_parts = 3) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace backplane
