#include "extensions.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "backplane/bench.h"
#include "kernels_generated.h"
#include "recording.hpp"

namespace backplane::opencl {

namespace {

using Clock = std::chrono::steady_clock;

// A program of one dispatch of the kernel `peak`, on buffers of its own.
class PeakRun {
public:
    PeakRun(Device& device, uint32_t mode, uint32_t rounds, uint64_t read_bytes, uint32_t groups) : device_(device) {
        gpu::Value in;
        in.dtype = BP_U8;
        in.dim = {static_cast<int64_t>(read_bytes)};
        in.base = 0;
        gpu::Value out = in;
        out.dim = {256};
        out.base = 1;
        plan_.add_value(in);
        plan_.add_value(out);
        Dispatch d;
        d.kernel = gpu::kKernel_peak;
        d.constants = {128, mode};
        d.operands = {{0, 16, false}, {1, 4, true}};
        d.parameters = {rounds};
        d.groups[0] = groups;
        plan_.dispatches.push_back(d);
        parameters_ = Parameters(device, plan_);
        memory_[0] = device.memory->create(read_bytes);
        memory_[1] = device.memory->create(256);
        // Memory that was never written may not be there yet, or be one page of zeros many times over.
        const std::vector<std::byte> piece(uint64_t{1} << 20, std::byte{1});
        for (uint64_t at = 0; at < read_bytes; at += piece.size())
            device.upload(memory_[0], at, piece.data(), std::min<uint64_t>(piece.size(), read_bytes - at));
        recording_ =
            std::make_unique<Recording>(device, plan_, parameters_, std::vector<Place>{{memory_[0], 0}, {memory_[1], 0}});
    }
    PeakRun(const PeakRun&) = delete;
    PeakRun& operator=(const PeakRun&) = delete;
    ~PeakRun() {
        recording_.reset();
        for (const Buffer& buffer : memory_) device_.memory->close(buffer);
    }
    // Seconds of the fastest of some runs.
    double seconds() {
        double best = 1e9;
        const auto begin = Clock::now();
        for (int i = 0; i < 20 && (i < 2 || Clock::now() - begin < std::chrono::milliseconds(100)); ++i) {
            const auto start = Clock::now();
            recording_->run(nullptr);
            best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
        }
        return best;
    }

private:
    Device& device_;
    Plan plan_;
    Parameters parameters_;
    Buffer memory_[2];
    std::unique_ptr<Recording> recording_;
};

double gflops(bp_device* handle, uint32_t dtype) {
    Device& device = *reinterpret_cast<Device*>(handle);
    if (dtype != BP_F32) return 0;
    double result = 0;
    static_cast<void>(sdk::guard(nullptr, [&] {
        const bool software = device.can().software;
        const uint32_t groups = software ? 64 : 8192;
        const uint32_t rounds = software ? 256 : 2048;
        PeakRun run(device, 0, rounds, 256, groups);
        result = 2.0 * 64 * rounds * 128.0 * groups / run.seconds() / 1e9;
    }));
    return result;
}

double read_gbytes(bp_device* handle) {
    Device& device = *reinterpret_cast<Device*>(handle);
    double result = 0;
    static_cast<void>(sdk::guard(nullptr, [&] {
        const uint64_t most = device.can().most_allocation / 2;
        const uint64_t bytes = std::min<uint64_t>(most, uint64_t{1} << (device.can().software ? 27 : 30)) / 256 * 256;
        PeakRun run(device, 1, static_cast<uint32_t>(bytes / 16), bytes, device.can().software ? 64 : 4096);
        result = static_cast<double>(bytes) / run.seconds() / 1e9;
    }));
    return result;
}

constinit const bp_bench_peak kPeak = {BP_SIZE(bp_bench_peak, read_gbytes), 0, gflops, read_gbytes};

}  // namespace

const void* find_extension(const char* id) {
    return id != nullptr && std::string_view(id) == BP_BENCH_PEAK ? &kPeak : nullptr;
}

}  // namespace backplane::opencl
