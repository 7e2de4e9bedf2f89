// "bp.bench.peak" (backplane/bench.h) of a backend, measured with the kernel `peak`.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

#include "backplane/bench.h"
#include "backplane/sdk.hpp"
#include "common/gpu/device.hpp"
#include "common/gpu/kernel_words.hpp"

namespace backplane::gpu {

// What the kernel does: multiply and add, or read.
enum class Peak : uint32_t { arithmetic = 0, reading = 1 };

template <typename A>
class PeakTable {
public:
    static const void* get() { return &kTable; }

private:
    using Device = gpu::Device<A>;
    using Clock = std::chrono::steady_clock;

    // Of the fastest of some runs of the kernel, on memory of its own: the bytes it reads, and 256 where it could write. For ever where it cannot be done.
    static double seconds(Device& device, Peak what, uint32_t rounds, uint64_t bytes, uint32_t groups) {
        double least = std::numeric_limits<double>::infinity();
        static_cast<void>(sdk::guard(nullptr, [&] { least = seconds_of_runs(device, what, rounds, bytes, groups); }));
        return least;
    }
    static double seconds_of_runs(Device& device, Peak what, uint32_t rounds, uint64_t bytes, uint32_t groups) {
        const auto in = device.memory->hold(bytes, device);
        const auto out = device.memory->hold(256, device);
        // Memory that was never written may not be there yet, or be one page of zeros many times over.
        const std::vector<std::byte> piece(kPieceBytes, std::byte{1});
        for (uint64_t at = 0; at < bytes; at += piece.size())
            device.fill(*in, at, piece.data(), std::min<uint64_t>(piece.size(), bytes - at));
        const std::vector<uint32_t> words = words_of(PeakParameters{rounds});
        const auto told = device.memory->hold(kParameterWords * sizeof(uint32_t), device);
        device.fill(*told, 0, reinterpret_cast<const std::byte*>(words.data()), words.size() * sizeof(uint32_t));
        Range<typename A::Block> ranges[] = {in->range(0, bytes), out->range(0, 256)};
        ranges[0].element = 16;
        auto recording = A::begin(*device.api, 1);
        A::dispatch(recording, device.kernels->get(kKernel_peak, {128, static_cast<uint32_t>(what)}), ranges, words,
                    told->range(0, told->size), {{groups, 1, 1}, 128});
        A::end(recording);
        A::built(*device.api);
        double best = 1e9;
        const auto begin = Clock::now();
        for (int i = 0; i < 20 && (i < 2 || Clock::now() - begin < std::chrono::milliseconds(100)); ++i) {
            const Ticket<A> ticket = device.admit(0, device.physical.queues, {}, {});
            const auto start = Clock::now();
            device.complete(ticket, device.submit(ticket, recording));
            best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
        }
        return best;
    }

    static double gflops(bp_device* handle, uint32_t dtype) {
        if (dtype != BP_F32) return 0;
        auto& device = *reinterpret_cast<Device*>(handle);
        const uint32_t groups = device.can().software ? 64 : 8192;
        const uint32_t rounds = device.can().software ? 256 : 2048;
        const double work = 2.0 * 64 * rounds * 128.0 * groups;
        return work / seconds(device, Peak::arithmetic, rounds, 256, groups) / 1e9;
    }

    static double read_gbytes(bp_device* handle) {
        auto& device = *reinterpret_cast<Device*>(handle);
        const bool software = device.can().software;
        const uint64_t most = std::min(device.can().most_range, device.can().most_allocation) / 2;
        const uint64_t bytes = std::min(most, software ? kSoftwareBytes : uint64_t{1} << 30) / 256 * 256;
        const auto rounds = static_cast<uint32_t>(bytes / 16);
        const double took = seconds(device, Peak::reading, rounds, bytes, software ? 64 : 4096);
        return static_cast<double>(bytes) / took / 1e9;
    }

    static constexpr uint64_t kSoftwareBytes = uint64_t{1}
                                               << 26;  // of a device that runs on the CPU: more than its caches hold
    static constexpr bp_bench_peak kTable = {BP_SIZE(bp_bench_peak, read_gbytes), 0, gflops, read_gbytes};
};

}  // namespace backplane::gpu
