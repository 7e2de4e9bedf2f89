// What is behind a Pipeline: its parts, and threads that hand passes over to them.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backplane/pipeline.hpp"
#include "runtime/part_times.hpp"

namespace backplane {

namespace runtime {

// An input of a part or an output: of the whole graph by its name there, or between parts.
struct PipelinePort {
    std::string name;  // in the part
    TensorId whole;
    std::string given;  // the name in the whole graph; empty: between parts
};

struct PipelinePart {
    PipelinePart(Device device_, Session session_, std::vector<PipelinePort> inputs_, std::vector<PipelinePort> outputs_)
        : device(std::move(device_)),
          session(std::move(session_)),
          inputs(std::move(inputs_)),
          outputs(std::move(outputs_)) {}

    Device device;     // its own; others stand in for it
    std::mutex mutex;  // of the session
    Session session;
    std::vector<PipelinePort> inputs, outputs;
};

}  // namespace runtime

struct Pipeline::Pass::State {
    std::vector<Input> inputs;
    std::vector<std::string> names;  // of inputs
    const std::atomic<uint32_t>* cancel = nullptr;
    std::vector<Event> events;                            // of the parts that were handed over
    std::map<uint32_t, Tensor> at;                        // what they make, by tensor of the whole graph
    std::map<std::pair<size_t, size_t>, Tensor> brought;  // large inputs, by part and input of it
    std::exception_ptr error;                             // of handing a part over
    std::shared_ptr<runtime::PartEnds> ends;

    std::mutex mutex;
    std::condition_variable changed;
    bool in_hands = false;  // of the threads that hand parts over

    void leave_hands() {
        const std::lock_guard lock(mutex);
        in_hands = false;
        changed.notify_all();  // with the lock: whoever waits may destroy this
    }
    void wait() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return !in_hands; });
    }
    void settle() noexcept {
        wait();
        for (const Event& event : events) {
            try {
                event.wait();
            } catch (const Error&) {  // NOLINT(bugprone-empty-catch): who wanted to know asked
            }
        }
        events.clear();
    }
};

// Handing work over may take as long as the work does: a device that answers to a flag is given no more than it answers for. So each part has a
// thread that hands it over, pass by pass, and gives the pass on to the next part's. What the host has for them goes up before, by a thread of its own, under
// the work of the passes before.
struct Pipeline::Impl {
    using Port = runtime::PipelinePort;
    using Part = runtime::PipelinePart;

    std::deque<Part> parts;
    uint64_t peer = 0, between = 0;  // bytes: of all passes, from device to device; of one, from part to part
    runtime::PartTimes times;        // none of one part
    bool early = false;              // threads hand over what there is one part of, too

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() {
        {
            const std::lock_guard lock(mutex_);
            closing_ = true;
        }
        changed_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

    [[nodiscard]] bool by_threads() const { return parts.size() > 1 || early; }
    [[nodiscard]] static Input given_to(const Port& port, const Pass::State& pass);
    [[nodiscard]] std::vector<Input> inputs_of(size_t part, const Pass::State& pass) const;
    void check(const Pass::State& pass) const;
    void check(std::span<const Output> outputs) const;
    void start(Pass::State& pass);
    void settle();
    void give_back(Pass::State& pass);
    void hand_out(const Pass::State& pass, std::span<const Output> outputs) const;
    void by_host(Pass::State& pass, std::span<const Output> outputs);

private:
    struct Watched {
        backplane::Event event;
        std::shared_ptr<runtime::PartEnds> ends;
    };
    void submit(size_t part, Pass::State& pass);
    void serve_inputs();
    void bring(Pass::State& pass);
    [[nodiscard]] Tensor spare_for(size_t part, size_t input);
    [[nodiscard]] Tensor room_for(size_t part, size_t output);
    void one_is_done();
    void serve(size_t part);
    void watch(size_t part);

    std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    std::deque<Pass::State*> arrived_;                                // whose inputs are to be brought
    std::vector<std::deque<Pass::State*>> queues_;                    // by part
    std::map<std::pair<size_t, size_t>, std::vector<Tensor>> spare_;  // for inputs that are brought, by part and input of it
    std::map<std::pair<size_t, size_t>, std::vector<Tensor>> made_;   // what parts write, by part and output of it
    size_t under_way_ = 0;                                            // passes that were started and are not done
    std::vector<std::deque<Watched>> watched_;                        // likewise
    std::vector<std::thread> threads_;                                // one for inputs, two for each part
    bool closing_ = false;
};

}  // namespace backplane
