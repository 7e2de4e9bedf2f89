#include "thread_pool.hpp"

#include <system_error>

#include "cpu_features.hpp"
#include "waiting.hpp"

namespace backplane::cpu {

namespace {

// Steps of a network follow one another within microseconds: a sleeping thread would cost more to wake than the wait is long.
// About 20 us at 3 GHz; longer would steal time from others on a shared machine.
constexpr int kSpins = 1000;

void wait_until_not(const std::atomic<uint32_t>& value, uint32_t old) {
    for (int i = 0; i < kSpins; ++i) {
        if (value.load(std::memory_order_acquire) != old) return;
        relax();
    }
    sleep_while(value, old);
}

}  // namespace

void ThreadPool::set_threads(uint32_t threads) {
    if (threads == threads_) return;
    stop();
    threads_ = threads;
    scratch_.clear();
}

void ThreadPool::reserve_scratch(size_t bytes) {
    if (bytes <= scratch_bytes_ && scratch_.size() == threads_) return;
    scratch_.clear();
    scratch_bytes_ = bytes > scratch_bytes_ ? bytes : scratch_bytes_;
    for (uint32_t i = 0; i < threads_; ++i) scratch_.emplace_back(host_, scratch_bytes_);
}

void ThreadPool::start() {
    while (workers_.size() + 1 < threads_) {
        const auto lane = static_cast<uint32_t>(workers_.size() + 1);
        try {
            workers_.emplace_back(&ThreadPool::worker, this, lane, round_.load());
        } catch (const std::system_error&) {
            return;  // the work is done with those there are; the next run tries again
        }
    }
}

void ThreadPool::stop() {
    stopping_ = true;
    round_.fetch_add(1);
    wake_all(round_);
    for (auto& thread : workers_) thread.join();
    workers_.clear();
    stopping_ = false;
}

void ThreadPool::worker(uint32_t lane, uint32_t seen) {
    for (;;) {
        wait_until_not(round_, seen);
        const uint32_t now = round_.load(std::memory_order_acquire);
        if (now == seen) continue;
        seen = now;
        if (stopping_) return;
        work(lane);
        if (active_.fetch_sub(1, std::memory_order_acq_rel) == 1) wake_one(active_);
    }
}

void ThreadPool::work(uint32_t lane) {
    std::byte* scratch = lane < scratch_.size() ? scratch_[lane].data() : nullptr;
    for (;;) {
        const uint32_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= chunks_) return;
        call_(arg_, chunk, scratch);
    }
}

void ThreadPool::run(uint32_t chunks, Call call, void* arg) {
    if (chunks == 0) return;
    call_ = call;
    arg_ = arg;
    chunks_ = chunks;
    next_.store(0, std::memory_order_relaxed);
    if (threads_ > 1 && chunks > 1 && host_.has_parallel()) {
        host_.parallel(
            threads_, [](void* self, uint32_t lane) { static_cast<ThreadPool*>(self)->work(lane); }, this);
        return;
    }
    if (chunks > 1 && workers_.size() + 1 < threads_) start();
    if (chunks == 1 || workers_.empty()) {
        work(0);
        return;
    }
    active_.store(static_cast<uint32_t>(workers_.size()), std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    wake_all(round_);
    work(0);
    for (uint32_t left = active_.load(std::memory_order_acquire); left != 0; left = active_.load(std::memory_order_acquire))
        wait_until_not(active_, left);
}

}  // namespace backplane::cpu
