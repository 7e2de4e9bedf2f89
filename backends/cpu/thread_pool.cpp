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

void ThreadPool::begin(size_t scratch) {
    if (const uint32_t threads = wanted_threads(); threads != threads_) {
        stop();
        threads_ = threads;
        shares_.reset();
        scratch_.clear();
    }
    if (scratch <= scratch_bytes_ && scratch_.size() == threads_) return;
    scratch_.clear();
    scratch_bytes_ = scratch > scratch_bytes_ ? scratch : scratch_bytes_;
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
        if (stopping_.load(std::memory_order_relaxed)) return;
        if (!enter()) continue;  // it woke up too late: the others were done without it
        work(lane);
        if (gate_.fetch_sub(1, std::memory_order_acq_rel) == 1) wake_one(gate_);
    }
}

bool ThreadPool::enter() {
    uint32_t gate = gate_.load(std::memory_order_relaxed);
    while ((gate & kOpen) != 0)
        if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire, std::memory_order_relaxed)) return true;
    return false;
}

uint32_t ThreadPool::first_of(uint32_t lane) const {
    return static_cast<uint32_t>((uint64_t{chunks_} * lane + threads_ - 1) / threads_);
}

void ThreadPool::work(uint32_t lane) {
    std::byte* scratch = lane < scratch_.size() ? scratch_[lane].data() : nullptr;
    for (uint32_t i = 0; i < threads_; ++i) {
        const uint32_t of = (lane + i) % threads_;
        const uint32_t end = first_of(of + 1);
        std::atomic<uint32_t>& next = shares_[of].next;
        while (next.load(std::memory_order_relaxed) < end) {
            const uint32_t chunk = next.fetch_add(1, std::memory_order_relaxed);
            if (chunk < end) call_(arg_, chunk, scratch);
        }
    }
}

void ThreadPool::take_all() {
    std::byte* scratch = scratch_.empty() ? nullptr : scratch_[0].data();
    for (uint32_t chunk = 0; chunk < chunks_; ++chunk) call_(arg_, chunk, scratch);
}

void ThreadPool::run(uint32_t chunks, Call call, void* arg) {
    if (chunks == 0) return;
    call_ = call;
    arg_ = arg;
    chunks_ = chunks;
    if (threads_ == 1 || chunks == 1) return take_all();
    if (!shares_) shares_ = std::make_unique<Share[]>(threads_);
    for (uint32_t lane = 0; lane < threads_; ++lane) shares_[lane].next.store(first_of(lane), std::memory_order_relaxed);
    if (host_.has_parallel()) return host_.parallel(threads_, [this](uint32_t lane) { work(lane); });
    if (workers_.size() + 1 < threads_) start();
    if (workers_.empty()) return take_all();
    gate_.store(kOpen, std::memory_order_release);
    round_.fetch_add(1, std::memory_order_release);
    wake_all(round_);
    work(0);
    // Waits for those who took a chunk and not for those who are still asleep, or whose core somebody else has: with more threads than the
    // machine has idle cores nothing takes longer than with one.
    uint32_t inside = gate_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    for (; inside != 0; inside = gate_.load(std::memory_order_acquire)) wait_until_not(gate_, inside);
}

}  // namespace backplane::cpu
