#include "extensions.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "backplane/bench.h"
#include "backplane/loans.h"
#include "device.hpp"

namespace backplane::cpu {

namespace {

using Clock = std::chrono::steady_clock;

// Runs body(thread) on all threads at once; seconds from the common start to the last end.
template <typename Body>
double seconds(uint32_t threads, Body body) {
    std::atomic<uint32_t> ready{0};
    std::atomic<bool> go{false};
    std::vector<std::thread> others;
    for (uint32_t i = 1; i < threads; ++i)
        others.emplace_back([&, i] {
            ready.fetch_add(1);
            while (!go.load()) std::this_thread::yield();
            body(i);
        });
    while (ready.load() + 1 < threads) std::this_thread::yield();
    const auto start = Clock::now();
    go.store(true);
    body(0);
    for (auto& thread : others) thread.join();
    return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr int kTries = 5;  // the best one counts: the machine is shared

Device& of(bp_device* device) { return *reinterpret_cast<Device*>(device); }

double gflops(bp_device* handle, uint32_t dtype) {
    if (dtype != BP_F32) return 0;  // the kernels compute in float32, whatever they read
    const Level& level = of(handle).level;
    const uint32_t threads = of(handle).pool.wanted_threads();
    double best = 0;
    std::atomic<float> sink{0};
    for (int i = 0; i < kTries; ++i) {
        std::vector<double> flops(threads);
        const double time =
            seconds(threads, [&](uint32_t t) { sink.store(level.kernels.peak.multiply_add(2'000'000, &flops[t])); });
        double sum = 0;
        for (const double f : flops) sum += f;
        best = std::max(best, sum / time / 1e9);
    }
    return best;
}

double read_gbytes(bp_device* handle) {
    const Level& level = of(handle).level;
    const uint32_t threads = of(handle).pool.wanted_threads();
    constexpr int64_t kFloats = int64_t{24} << 20;  // 96 MiB for each thread: more than most last-level caches
    std::vector<std::vector<float>> memory(threads, std::vector<float>(kFloats, 1.0f));
    double best = 0;
    std::atomic<float> sink{0};
    for (int i = 0; i < kTries; ++i) {
        const double time =
            seconds(threads, [&](uint32_t t) { sink.store(level.kernels.peak.sum(memory[t].data(), kFloats)); });
        best = std::max(best, static_cast<double>(threads) * kFloats * sizeof(float) / time / 1e9);
    }
    return best;
}

const bp_bench_peak peak = {BP_SIZE(bp_bench_peak, read_gbytes), 0, gflops, read_gbytes};

constexpr uint64_t kCopiedUpTo =
    4096;  // which takes no longer than to name the memory, where that is other memory at each run

const bp_loans loans = {BP_SIZE(bp_loans, copied_up_to), kLoanAlignment, kCopiedUpTo};

}  // namespace

const void* find_extension(const char* id) {
    if (id == nullptr) return nullptr;
    if (std::strcmp(id, BP_LOANS) == 0) return &loans;
    return std::strcmp(id, BP_BENCH_PEAK) == 0 ? &peak : nullptr;
}

}  // namespace backplane::cpu
