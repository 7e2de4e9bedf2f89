// Order of work: queues with a timeline each, and the host's fences, which count a queue's work with numbers of their own.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/cancel.hpp"
#include "common/gpu/api.hpp"
#include "common/gpu/parallel.hpp"
#include "common/timeline.hpp"

namespace backplane::gpu {

inline constexpr uint32_t kLanes = 4;  // threads at a copy
// Fewer bytes than this one thread moves before others have started.
inline constexpr uint64_t kWorthThreads = uint64_t{2} << 20;

// What the host does once a value of a queue is reached, before anybody is told: bytes it takes out of staging memory, and what the work no
// longer needs.
struct Deferred {
    uint64_t value = 0;
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    uint64_t bytes = 0;
    std::function<void()> done;
};

template <typename A>
class Queue {
public:
    // `looks`: a wait first asks the timeline, as long as short work takes; not where the host's cores are what does the work.
    Queue(typename A::Device& device, const backend::Host& host, uint32_t which, bool looks)
        : index(which), api_(device.queues[which]), host_(host), timeline_(A::timeline(device, api_)), looks_(looks) {}

    const uint32_t index;  // of the device
    typename A::Timeline& timeline() { return *timeline_; }
    // Of the last that was submitted.
    [[nodiscard]] uint64_t last() const { return last_; }
    // Hands `work(queue, timeline, value)` to the driver; returns the value that is reached when it is done. [any]
    template <typename Work>
    uint64_t submit(Work&& work) {
        const std::lock_guard lock(submitting_);
        const uint64_t value = last_ + 1;
        work(api_, *timeline_, value);
        last_ = value;
        return value;
    }
    // [any]
    bool reached(uint64_t value) {
        if (value <= seen_) return true;
        const uint64_t now = A::reached(*timeline_);
        raise(now);
        return value <= now;
    }
    // What was known to be reached when last asked for: all that counts of a device that was lost.
    [[nodiscard]] uint64_t seen() const { return seen_; }
    bool idle() { return reached(last_); }
    // False: not reached in time. [any]
    bool wait(uint64_t value, uint64_t nanoseconds = kForEver) {
        if (value <= seen_ || (looks_ && look(value, std::min(nanoseconds, kLook)))) return true;
        if (!A::wait(*timeline_, value, nanoseconds)) return false;
        raise(value);
        return true;
    }

    // Values of what is deferred grow.
    void defer(Deferred what) {
        const std::lock_guard lock(deferred_mutex_);
        deferred_.push_back(std::move(what));
    }
    // Does what was deferred until values that are reached. [any]
    void finish() {
        const std::lock_guard lock(deferred_mutex_);
        size_t count = 0;
        uint64_t bytes = 0;
        for (; count < deferred_.size() && reached(deferred_[count].value); ++count) bytes += deferred_[count].bytes;
        std::atomic<size_t> next{0};
        const auto copy = [&](uint32_t) {
            for (size_t i = next++; i < count; i = next++)
                if (const Deferred& d = deferred_[i]; d.to != nullptr) std::memcpy(d.to, d.from, d.bytes);
        };
        if (bytes != 0) in_parallel(host_, bytes < kWorthThreads ? 1 : kLanes, copy);
        while (count-- > 0) end_first();
    }
    // `value`, and what is deferred until then, whose bytes are taken as they come. False: not reached in time. [any]
    bool end_until(uint64_t value, uint64_t nanoseconds = kForEver) {
        for (;;) {
            const uint64_t next = std::min(value, next_copy());
            if (!wait(next, nanoseconds)) return false;
            finish();
            if (next == value) return true;
        }
    }
    // Of a lost device: nothing of what was deferred until then is copied any more.
    void drop(uint64_t value) {
        const std::lock_guard lock(deferred_mutex_);
        while (!deferred_.empty() && deferred_.front().value <= value) end_first();
    }
    // Waits for all that was submitted; a driver that lost the device says so at once.
    void end(bool lost) noexcept {
        try {
            wait(last_);
            if (!lost) finish();
        } catch (const sdk::Failure&) {  // NOLINT(bugprone-empty-catch): what it did not end is dropped
        }
        drop(last_);
    }
    // The value until which something writes to these bytes of the host's; 0: nothing does.
    uint64_t until_written(const std::byte* first, uint64_t bytes) {
        const std::lock_guard lock(deferred_mutex_);
        uint64_t value = 0;
        for (const Deferred& d : deferred_)
            if (d.to != nullptr && d.to < first + bytes && first < d.to + d.bytes) value = d.value;
        return value;
    }

private:
    static constexpr uint64_t kLook = 100'000;  // nanoseconds; to be woken by a driver takes 20 to 60 thousand

    bool look(uint64_t value, uint64_t nanoseconds) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanoseconds);
        do {
            if (reached(value)) return true;
            std::this_thread::yield();
        } while (std::chrono::steady_clock::now() < end);
        return false;
    }
    void raise(uint64_t value) {
        uint64_t known = seen_;
        while (known < value && !seen_.compare_exchange_weak(known, value)) {
        }
    }
    // The value of what is deferred first, if that is a copy.
    uint64_t next_copy() {
        const std::lock_guard lock(deferred_mutex_);
        return deferred_.empty() || deferred_.front().to == nullptr ? kForEver : deferred_.front().value;
    }
    void end_first() {
        const Deferred first = std::move(deferred_.front());
        deferred_.pop_front();
        if (first.done) first.done();
    }

    typename A::Queue& api_;
    const backend::Host& host_;
    std::unique_ptr<typename A::Timeline> timeline_;
    bool looks_;
    std::mutex submitting_, deferred_mutex_;
    std::atomic<uint64_t> last_ = 0, seen_ = 0;
    std::deque<Deferred> deferred_;
};

// A fence of the host: values that the host chose, each with the value of the queue's timeline that stands for it and how the work ended.
template <typename A>
class Fence {
public:
    explicit Fence(Device<A>& device) : device_(&device) {}

    [[nodiscard]] Device<A>& owner() const { return *device_; }

    // Throws Failure(BP_INVALID) when `value` cannot be signalled next, by this queue.
    void check_next(const Queue<A>& queue, uint64_t value) const {
        const std::lock_guard lock(ends_->mutex);
        ends_->values.check_signal("signal", queue.index, value);
    }
    // `value` is reached when the queue reaches `at`; with a flag, as cancelled if the flag was raised by then.
    void signal(Queue<A>& queue, uint64_t value, uint64_t at, bp_code outcome, const volatile uint32_t* cancel) {
        if (outcome != BP_OK || cancel != nullptr)
            expect(queue, value, at, [=] { return outcome == BP_OK && backend::raised(cancel) ? BP_CANCELLED : outcome; });
        const std::lock_guard lock(ends_->mutex);
        ends_->values.submit(queue.index, value);
        queue_ = &queue;
        // What is reached needs no place of its own any more.
        while (points_.size() > 1 && points_[1].at <= queue.seen()) points_.pop_front();
        points_.push_back({value, at});
    }
    // `value`, which is about to be signalled or was, comes to what `outcome` says when the queue has reached `at`.
    void expect(Queue<A>& queue, uint64_t value, uint64_t at, std::function<bp_code()> outcome) {
        queue.defer({at, nullptr, nullptr, 0, [ends = ends_, value, outcome = std::move(outcome)] {
                         if (const bp_code code = outcome(); code != BP_OK) ends->fail(value, code);
                     }});
    }
    // Where a value is reached; the queue is null for what is always. Throws Failure(BP_INVALID) for a value that was never submitted.
    std::pair<Queue<A>*, uint64_t> find(uint64_t value) const {
        const std::lock_guard lock(ends_->mutex);
        ends_->values.check_submitted("wait", value);
        if (value == 0) return {nullptr, 0};
        return {queue_, of(value).at};
    }
    // BP_OK, or how the work failed that reaches this value.
    [[nodiscard]] bp_code outcome(uint64_t value) const {
        const std::lock_guard lock(ends_->mutex);
        return ends_->values.outcome(value).code;
    }
    // The device is lost, and what `value` was to say, with all that comes after.
    void lose(uint64_t value) { ends_->fail(value, BP_DEVICE_LOST); }
    // The largest value that is reached. What was deferred until then is done. Throws Failure(BP_DEVICE_LOST).
    uint64_t read() {
        device_->check_lost();
        Queue<A>* queue = queue_;
        if (queue == nullptr) return 0;
        queue->idle();
        const uint64_t reached = queue->seen();
        queue->finish();
        const std::lock_guard lock(ends_->mutex);
        for (const Point& p : points_)
            if (p.at <= reached) read_ = std::max(read_, p.value);
        return read_;
    }
    // Returns when `value` is reached. Throws Failure: what became of it, BP_TIMEOUT.
    void wait(uint64_t value, uint64_t nanoseconds) {
        const bp_code outcome = device_->wait(*this, value, nanoseconds);
        if (outcome == BP_OK) return;
        const auto why = [&]() -> std::string {
            if (outcome == BP_TIMEOUT) return "it is not reached yet; wait longer";
            if (outcome == BP_CANCELLED) return "its run was cancelled";
            if constexpr (requires { A::broken_words(*device_->api); })
                if (outcome == BP_UNSUPPORTED) return A::broken_words(*device_->api);
            return "the device was lost; close it and open it again";
        };
        throw sdk::Failure(outcome,
                           "wait for the point " + std::to_string(value) + " on " + device_->physical.name + ": " + why());
    }

private:
    struct Point {
        uint64_t value = 0, at = 0;  // of the fence, of the queue's timeline
    };
    // What became of values. It outlives the fence where the queue still has to look at a flag.
    struct Ends {
        std::mutex mutex;
        backend::Timeline values;  // of those that are reached: what does not end well, and what is before it

        void fail(uint64_t value, bp_code code) {
            const std::lock_guard lock(mutex);
            values.reach(value - 1);
            values.reach(value, {code, {}});
            if (code == BP_DEVICE_LOST) values.end({code, {}});
        }
    };

    [[nodiscard]] const Point& of(uint64_t value) const {
        return *std::find_if(points_.begin(), points_.end(), [&](const Point& p) { return p.value >= value; });
    }

    Device<A>* device_;
    const std::shared_ptr<Ends> ends_ = std::make_shared<Ends>();
    std::atomic<Queue<A>*> queue_ = nullptr;  // of the first signal
    std::deque<Point> points_;                // values that grow
    uint64_t read_ = 0;
};

}  // namespace backplane::gpu
