// A compiled graph: kernels, the memory they need, and commands recorded once for what is bound.
#pragma once

#include <memory>
#include <vector>

#include "device.hpp"
#include "recording.hpp"

namespace backplane::vulkan {

class Program {
public:
    // Throws Failure: BP_UNSUPPORTED names the node and why; BP_NO_DEVICE_MEMORY when workspace_limit does not suffice.
    Program(Device& device, const bp_graph* graph, const bp_compile& how);
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program();

    [[nodiscard]] bp_program_info info() const;
    void run(const bp_run& run);

private:
    void make_residents();
    Recording& recording_for(const std::vector<Place>& places);

    Device& device_;
    Plan plan_;
    Buffer resident_;
    std::vector<VkPipeline> pipelines_;                   // one a dispatch; null: a copy
    std::vector<std::unique_ptr<Recording>> recordings_;  // last used first
    std::vector<bp_slot> slots_;
    std::string summary_;
    uint64_t parameter_bytes_ = 0, parameter_stride_ = 0, compile_ns_ = 0;
    uint32_t cache_hits_ = 0;
    bool plan_only_ = false;
};

}  // namespace backplane::vulkan
