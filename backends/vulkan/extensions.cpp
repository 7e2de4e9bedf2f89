#include "extensions.hpp"

#include <algorithm>

#include "common/gpu/peak.hpp"
#include "recording.hpp"

namespace backplane::vulkan {

namespace {

class PeakRun {
public:
    using Device = vulkan::Device;
    static constexpr uint64_t kSoftwareBytes = uint64_t{1} << 26;

    PeakRun(Device& device, Plan plan) : device_(device), plan_(std::move(plan)) {
        const Dispatch& d = plan_.dispatches[0];
        pipelines_ = {device.pipeline(d.kernel, d.constants)};
        std::vector<uint32_t> words(kParameterWords);
        std::copy(d.parameters.begin(), d.parameters.end(), words.begin());
        const uint64_t bytes = words.size() * sizeof(uint32_t);
        memory_[0] = device.memory->create(static_cast<uint64_t>(plan_[0].elements()));
        memory_[1] = device.memory->create(static_cast<uint64_t>(plan_[1].elements()));
        memory_[2] = device.memory->create(bytes);
        device.upload(memory_[2], 0, reinterpret_cast<const std::byte*>(words.data()), bytes);
        const Script script{plan_, pipelines_, memory_[2], bytes};
        recording_ = std::make_unique<Recording>(device, script, std::vector<Place>{{memory_[0], 0}, {memory_[1], 0}});
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
    std::vector<VkPipeline> pipelines_;
    Buffer memory_[3];
    std::unique_ptr<Recording> recording_;
};

}  // namespace

const void* find_extension(const char* id) { return gpu::PeakTable<PeakRun>::find(id); }

}  // namespace backplane::vulkan
