#include "extensions.hpp"

#include <algorithm>

#include "common/gpu/peak.hpp"
#include "recording.hpp"

namespace backplane::opencl {

namespace {

class PeakRun {
public:
    using Device = opencl::Device;
    static constexpr uint64_t kSoftwareBytes = uint64_t{1} << 27;

    PeakRun(Device& device, Plan plan) : device_(device), plan_(std::move(plan)), parameters_(device, plan_) {
        const uint64_t bytes = static_cast<uint64_t>(plan_[0].elements());
        memory_[0] = device.memory->create(bytes);
        memory_[1] = device.memory->create(static_cast<uint64_t>(plan_[1].elements()));
        // Memory that was never written may not be there yet, or be one page of zeros many times over.
        const std::vector<std::byte> piece(uint64_t{1} << 20, std::byte{1});
        for (uint64_t at = 0; at < bytes; at += piece.size())
            device.upload(memory_[0], at, piece.data(), std::min<uint64_t>(piece.size(), bytes - at));
        recording_ =
            std::make_unique<Recording>(device, plan_, parameters_, std::vector<Place>{{memory_[0], 0}, {memory_[1], 0}});
    }
    PeakRun(const PeakRun&) = delete;
    PeakRun& operator=(const PeakRun&) = delete;
    ~PeakRun() {
        recording_.reset();
        for (const Buffer& buffer : memory_) device_.memory->close(buffer);
    }
    void once() { recording_->run(nullptr); }

private:
    Device& device_;
    Plan plan_;
    Parameters parameters_;
    Buffer memory_[2];
    std::unique_ptr<Recording> recording_;
};

}  // namespace

const void* find_extension(const char* id) { return gpu::PeakTable<PeakRun>::find(id); }

}  // namespace backplane::opencl
