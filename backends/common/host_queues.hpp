// The queues of a device whose work threads of this process do: fences, points, wait lists, cancellation, loss, all that BP_CAN_ASYNC promises.
//
// A call without `wait` and `signal` on a queue where nothing is under way is done by the calling thread: no lock, no other thread. Anything
// else is done by the queue's worker, which starts at the first such call and ends with the object.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "common/cancel.hpp"
#include "common/timeline.hpp"

namespace backplane::backend {

class HostQueues {
    struct Lock {  // work that waits for a point of another device outlives that device
        std::mutex mutex;
        std::condition_variable changed;
    };

public:
    // What the host's handle of a fence stands for; work that waits for it keeps its points.
    struct Fence {
        HostQueues* owner;
        std::shared_ptr<Lock> lock;
        std::shared_ptr<Timeline> timeline;

        [[nodiscard]] uint64_t read() const;
        void wait(uint64_t value, uint64_t nanoseconds) const;  // throws Failure: the point's outcome, BP_TIMEOUT
    };
    // What a call asks for besides its work. Spans are read during the call.
    struct Order {
        const char* call;  // "run", for errors
        uint32_t queue = 0;
        bp_span wait{};
        bp_point signal{};
        const volatile uint32_t* cancel = nullptr;
        // The work takes no longer than to wake a thread for it: where nothing stands before it, the calling thread does it.
        bool brief = false;
        bp_span peer_wait{};  // points of other objects of this class, BP_CAN_PEER
        bool plain() const { return wait.count == 0 && signal.fence == nullptr && peer_wait.count == 0; }
    };

    // lose_after: the device is lost when as many works of kind `run` are done and the next begins; 0: never. For tests.
    explicit HostQueues(uint32_t queues, uint64_t lose_after = 0);
    ~HostQueues();  // everything submitted is done by then
    HostQueues(const HostQueues&) = delete;
    HostQueues& operator=(const HostQueues&) = delete;

    // Does `work`, a callable without arguments, in the order of its queue. With a signal: later, and what it throws is the outcome of the
    // point. Throws Failure (BP_INVALID, BP_UNSUPPORTED, BP_DEVICE_LOST) and has then submitted nothing; without a signal also what `work` throws.
    template <typename Work>
    void submit(const Order& order, Work&& work) {
        if (at_once(order)) {
            expect_there(order.call);
            work();
            return;
        }
        submit_later(order, std::function<void()>(std::forward<Work>(work)));
    }
    // Whether submit() will do the work in the call.
    [[nodiscard]] bool at_once(const Order& order) const {
        return order.plain() && order.queue < lines_.size() && idle(order.queue);
    }
    // At the head of each run's work: counts it, and loses the device where the option says so.
    void begin_run();
    // Throws Failure(BP_DEVICE_LOST) once the device is lost.
    void expect_there(const char* call) const;

    std::unique_ptr<Fence> make_fence();

private:
    struct Awaited {
        std::shared_ptr<Timeline> timeline;
        uint64_t value;
        std::shared_ptr<Lock> lock = nullptr;  // of another device
    };
    struct Job {
        std::vector<Awaited> wait, peers;
        std::shared_ptr<Timeline> timeline;
        uint64_t value = 0;
        const volatile uint32_t* cancel = nullptr;
        std::function<void()> work;
    };
    struct Line {
        std::deque<Job> jobs;                // under the lock
        std::thread worker;                  // of the calls on this queue alone
        std::atomic<uint32_t> under_way{0};  // jobs not done yet
    };
    static Fence* of(bp_fence* fence) { return reinterpret_cast<Fence*>(fence); }

    [[nodiscard]] bool idle(uint32_t queue) const { return lines_[queue]->under_way.load(std::memory_order_acquire) == 0; }
    void submit_later(const Order& order, std::function<void()> work);
    [[nodiscard]] std::shared_ptr<Timeline> timeline_of(const char* call, bp_fence* fence) const;
    [[nodiscard]] std::vector<Awaited> awaited(const Order& order) const;
    [[nodiscard]] std::vector<Awaited> awaited_of_peers(const Order& order) const;
    bool start(Line& line);
    void serve(Line& line);
    [[nodiscard]] bool all_reached(const std::vector<Awaited>& points) const;
    static void wait_for(const std::vector<Awaited>& peers);
    Outcome perform(const Job& job);

    std::vector<std::unique_ptr<Line>> lines_;
    const std::shared_ptr<Lock> shared_ = std::make_shared<Lock>();
    std::mutex& mutex_ = shared_->mutex;
    std::condition_variable& changed_ = shared_->changed;
    bool closing_ = false;
    std::atomic<bool> lost_{false};
    std::atomic<uint64_t> runs_{0};
    const uint64_t lose_after_;
};

}  // namespace backplane::backend
