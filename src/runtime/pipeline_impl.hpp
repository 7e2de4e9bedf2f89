// What is behind a Pipeline: its parts, and threads that hand passes over to them.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <list>
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
    size_t lane = 0, round = 0;  // of those whose devices are one; no part has a smaller round than the one before
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

// Handing work over may take as long as the work does: a device that answers to a flag is given no more than it answers for. So each lane, the parts of one
// device, has a thread that hands them over. What the host has for them goes up before, by a thread of its own, under the work of the passes before.
//
// A device does its work in the order in which it is handed over. Of two that have two parts each in turns, the first would wait with its second part of a pass
// for the other's first. So passes go in groups of as many as there are lanes: each lane does its first part of all passes of a group, then its second of all,
// and then the next group's. By number of group, round, and pass no part comes before one that it needs.
struct Pipeline::Impl {
    using Port = runtime::PipelinePort;
    using Part = runtime::PipelinePart;

    std::deque<Part> parts;
    uint64_t peer = 0, between = 0;  // bytes: of all passes, from device to device; of one, from part to part
    runtime::PartTimes times;        // none of one part
    std::deque<std::atomic<runtime::PartClock::rep>>
        lane_ends;       // when each lane's device last ended a part, as far as it was seen
    bool early = false;  // threads hand over what there is one part of, too

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

    [[nodiscard]] size_t lanes() const { return lane_ends.size(); }
    [[nodiscard]] std::atomic<runtime::PartClock::rep>& last_of(size_t part) { return lane_ends[parts[part].lane]; }
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
    struct Going {  // a pass whose inputs are there
        Pass::State* pass = nullptr;
        uint64_t number = 0;
        size_t next = 0;  // the part that is handed over next, or just now
    };
    void submit(size_t part, Pass::State& pass);
    [[nodiscard]] Going* next_of(size_t lane);
    [[nodiscard]] bool has_parts_for(size_t lane) const;
    void serve_inputs();
    void bring(Pass::State& pass);
    [[nodiscard]] Tensor spare_for(size_t part, size_t input);
    [[nodiscard]] Tensor room_for(size_t part, size_t output);
    void one_is_done();
    void serve(size_t lane);
    void watch(size_t part);

    std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    std::deque<Pass::State*> arrived_;  // whose inputs are to be brought
    std::list<Going> going_;
    uint64_t passes_ = 0;              // the number of the next
    std::vector<size_t> outstanding_;  // parts that a lane's device has and that are not known to be done
    std::map<std::pair<size_t, size_t>, std::vector<Tensor>> spare_;  // for inputs that are brought, by part and input of it
    std::map<std::pair<size_t, size_t>, std::vector<Tensor>> made_;   // what parts write, by part and output of it
    size_t under_way_ = 0;                                            // passes that were started and are not done
    std::vector<std::deque<Watched>> watched_;                        // likewise
    std::vector<std::thread> threads_;                                // one for inputs, one for each lane, one for each part
    bool closing_ = false;
};

}  // namespace backplane
