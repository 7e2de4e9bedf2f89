// Threads of one device. Each begins with chunks that are the same from run to run and lie next to each other, which its caches may still have,
// and then takes what others have not begun: a slow thread delays by one chunk at most. Who computes a chunk never changes what is computed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "memory.hpp"

namespace backplane::cpu {

class ThreadPool {
public:
    ThreadPool(const Host& host, uint32_t threads) : host_(host), threads_(threads), wanted_(threads) {}
    ~ThreadPool() { stop(); }
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    [[nodiscard]] uint32_t threads() const { return threads_; }
    // [any thread] Takes effect at the next begin().
    void set_threads(uint32_t threads) { wanted_.store(threads, std::memory_order_relaxed); }
    [[nodiscard]] uint32_t wanted_threads() const { return wanted_.load(std::memory_order_relaxed); }
    // Before the steps of a program: as many threads as are wanted now, and scratch of at least `scratch` bytes for every lane, 64-byte
    // aligned. Throws bad_alloc.
    void begin(size_t scratch);

    // Calls body(chunk, scratch) for every chunk in [0, chunks), from up to threads() threads; returns when all are done. One
    // caller at a time. Scratch is the lane's own and keeps nothing between calls. `body` must not throw.
    template <typename Body>
    void run(uint32_t chunks, Body&& body) {
        using Plain = std::remove_reference_t<Body>;
        run(
            chunks, [](void* arg, uint32_t chunk, std::byte* scratch) { (*static_cast<Plain*>(arg))(chunk, scratch); },
            &body);
    }

private:
    using Call = void (*)(void* arg, uint32_t chunk, std::byte* scratch);
    void run(uint32_t chunks, Call call, void* arg);
    void work(uint32_t lane);  // takes chunks until there are none
    void take_all();           // all chunks, one after the other, on the thread that calls
    void worker(uint32_t lane, uint32_t seen);
    bool enter();  // the job that is on now; false: there is none any more
    void start();
    void stop();

    const Host& host_;
    uint32_t threads_;
    std::atomic<uint32_t> wanted_;
    std::vector<std::thread> workers_;
    std::vector<HostMemory> scratch_;
    size_t scratch_bytes_ = 0;
    Call call_ = nullptr;
    void* arg_ = nullptr;
    uint32_t chunks_ = 0;
    // Chunks that a lane begins with: [next, first_of(lane + 1)) are not begun.
    struct alignas(kAlignment) Share {
        std::atomic<uint32_t> next{0};
    };
    [[nodiscard]] uint32_t first_of(uint32_t lane) const;
    std::unique_ptr<Share[]> shares_;  // one a lane
    std::atomic<bool> stopping_ = false;
    alignas(kAlignment) std::atomic<uint32_t> round_{0};  // a new job, or the end
    static constexpr uint32_t kOpen = 1U << 31;
    alignas(kAlignment) std::atomic<uint32_t> gate_{
        0};  // how many workers are inside a job; with kOpen while others may join it
};

}  // namespace backplane::cpu
