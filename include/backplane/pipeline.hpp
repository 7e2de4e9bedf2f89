// The layers of a graph over several devices: each takes a part of equal work, and they are at work on different batches at a time.
//
//   Pipeline pipeline({first, second}, 2, graph, weights);
//   Pipeline::Pass one = pipeline.start({{"x", x_bytes}});            // the first device has it
//   Pipeline::Pass two = pipeline.start({{"x", more_bytes}});         // and this one behind it
//   pipeline.finish(one, {{"y", y_bytes}});                           // the second has done it, while the first is at work on the other
//
// The graph is cut where few bytes cross between parts of equal work (products, and bytes that are read and written, as counted from shapes), so
// devices of like speed are wanted. What crosses goes from device to device without the host where they can (Capability::peer).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/runtime.hpp"

namespace backplane {

// What a part takes of a batch.
struct PartTime {
    std::string device;   // id
    uint64_t passes = 0;  // finished, their beginning and end here seen: on a busy machine not all; of none seconds are 0
    // From when it had what it waits for, the part before and its own batch before, to its end: what crosses is in it. The shortest of these passes.
    double seconds = 0;
};

// One thread at a time.
class Pipeline {
public:
    // The first `parts` devices take a part each, in this order, or several in turns (SessionOptions::rounds: part k is that of device k % parts); each of
    // them stands in for the others, and those behind them for all. One part is a Session. Throws Error: invalid (fewer devices than parts, fewer nodes),
    // unsupported (a graph with state), what Session throws.
    Pipeline(const std::vector<Device>& devices, size_t parts, const Graph& graph, const Weights& weights,
             const SessionOptions& options = {});
    ~Pipeline();
    Pipeline(Pipeline&&) noexcept;
    Pipeline& operator=(Pipeline&&) noexcept;

    // A batch under way. It goes before its Pipeline does.
    class Pass {
    public:
        Pass();
        ~Pass();  // waits for what it has started
        Pass(Pass&&) noexcept;
        Pass& operator=(Pass&&) noexcept;

    private:
        friend class Pipeline;
        struct State;
        std::unique_ptr<State> state_;
    };

    // Returns at once: each device has a thread that hands it its parts. Inputs and `cancel` stay the caller's until the pass is finished or gone.
    // To keep n devices busy, n + 1 passes are started before the first is finished. Throws Error(invalid) for an input that is left out; what
    // else there is to say finish() says.
    [[nodiscard]] Pass start(std::span<const Input> inputs, const std::atomic<uint32_t>* cancel = nullptr);
    [[nodiscard]] Pass start(std::initializer_list<Input> inputs, const std::atomic<uint32_t>* cancel = nullptr) {
        return start(std::span(inputs.begin(), inputs.size()), cancel);
    }
    // Returns when all parts are done; an output may be left out where there are several. When a device was lost, the pass is done again by those that are
    // left. Throws as Session::run, and invalid for a pass that is finished. One of several parts whose outputs are named wrongly can still be finished.
    void finish(Pass& pass, std::span<const Output> outputs);
    void finish(Pass& pass, std::initializer_list<Output> outputs) {
        finish(pass, std::span(outputs.begin(), outputs.size()));
    }

    // Of one part, before the first pass: start() has a thread hand the pass over as with several parts, and finish() does not. On a device with queues a
    // second pass that was started before the first is finished begins when that ends, and what the host does for either costs the device no time. Results
    // are tensors until they are handed out: those of two passes are there at a time.
    void hand_over_early();
    // Waits until all passes that were started are done. They can be finished still; what they take of devices, but for results, is there for others.
    void settle();

    [[nodiscard]] size_t parts() const noexcept;
    // The part that reads an input first, from 0: a tensor is best on its device. Throws Error(not_found).
    [[nodiscard]] size_t part_of(std::string_view input) const;
    // False: nothing reads it, or with rows on several devices each of these has an input of its own for its rows of it.
    [[nodiscard]] bool reads(std::string_view input) const noexcept;
    [[nodiscard]] std::vector<std::string> notes() const;  // as Session has them
    [[nodiscard]] std::string describe() const;
    [[nodiscard]] std::vector<std::string> plans_json() const;  // of each part, as Session::plan_json()
    [[nodiscard]] std::vector<StageRuns> runs() const;
    [[nodiscard]] std::vector<PartTime> times() const;  // of passes that are finished; of one part empty
    [[nodiscard]] uint64_t bytes_peer()
        const noexcept;  // from device to device without the host, of all passes that are finished

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace backplane
