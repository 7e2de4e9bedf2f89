// A graph over several devices. The next device does what the first one cannot run, computes wrongly, or fails at in mid-run.
//
//   auto devices = std::make_shared<SpreadDevices>(context.choose_with_fallback(), weights);
//   SpreadSession session(devices, graph);
//   session.run({{"x", x_bytes}}, {{"y", y_bytes}});
//   for (const std::string& note : session.report().notes) log(note);
//
// A graph that the first device runs whole is a plain Session on it: nothing is copied, nothing is slower.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backplane/runtime.hpp"

namespace backplane {

// Devices that stand in for one another, best first, and the packed weights of one model on each. Shared by the sessions of the model; any
// thread.
//
// On first use of a device whose module drives a driver (its descriptor asks for a trial in a child process), a few cases of the
// conformance table are run for each op of the graph. An op that comes out wrong is left to the next device, and a note says so. What came of
// it is remembered with the driver's version in the context's state folder.
class SpreadDevices {
public:
    // Throws Error(invalid) without a device.
    SpreadDevices(std::vector<Device> devices, const WeightSource& weights);
    ~SpreadDevices();
    SpreadDevices(const SpreadDevices&) = delete;
    SpreadDevices& operator=(const SpreadDevices&) = delete;

    [[nodiscard]] const std::vector<Device>& devices() const noexcept;

private:
    friend class SpreadSession;
    struct State;
    std::unique_ptr<State> state_;
};

struct SpreadPart {
    std::string device;  // id
    size_t nodes = 0;
    std::string ops;  // "Conv x 12, Relu x 12"
};

struct SpreadReport {
    std::vector<SpreadPart> parts;          // in the order of running; one: nothing is split
    uint64_t copies = 0, copied_bytes = 0;  // between devices, of one run
    std::vector<std::string> notes;  // a sentence each: what is not where it was wanted, and why; grows with what fails
};

struct SpreadOptions {
    CompileOptions compile;
    bool build_elsewhere = true;  // a device without memory for its part hands over already when the session is made
    // As SessionOptions::budget: bytes of the first device that weights and all else may take; 0: what it has.
    uint64_t budget = 0;
    Streaming streaming = Streaming::automatic;  // as SessionOptions::streaming
};

// One run at a time per session.
class SpreadSession {
public:
    // Throws Error: unsupported, naming the nodes that no device runs; what Session throws.
    SpreadSession(std::shared_ptr<SpreadDevices> devices, const Graph& graph, const SpreadOptions& options = {});
    ~SpreadSession();
    SpreadSession(SpreadSession&&) noexcept;
    SpreadSession& operator=(SpreadSession&&) noexcept;

    // As Session::run. When a device is lost or out of memory in mid-run, what remains is done by the next device; only without a next one
    // that is an error. State that a lost device held alone is lost with it: then it is an error, too (reset_state() begins anew elsewhere).
    // Of a graph that runs on several devices, state of up to 1 MiB in all is copied to the host after each run and is not lost.
    void run(std::span<const Input> inputs, std::span<const Output> outputs, const std::atomic<uint32_t>* cancel = nullptr);
    // The same with the names written where it is called: run({{"x", x_bytes}}, {{"y", y_bytes}}).
    void run(std::initializer_list<Input> inputs, std::initializer_list<Output> outputs,
             const std::atomic<uint32_t>* cancel = nullptr) {
        run(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()), cancel);
    }
    void reset_state();  // zero
    [[nodiscard]] SpreadReport report() const;
    [[nodiscard]] uint64_t workspace_bytes() const;  // the largest of any part
    [[nodiscard]] const Graph& graph() const;
    [[nodiscard]] std::string describe() const;   // the plan: stages, devices, where weights live, bytes; lines
    [[nodiscard]] std::string plan_json() const;  // the same for programs: docs/cli.md

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace backplane
