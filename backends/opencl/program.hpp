// A compiled graph: kernels, the memory they need, and work prepared once for what is bound.
#pragma once

#include <memory>
#include <vector>

#include "recording.hpp"

namespace backplane::opencl {

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
    // False: the plan needs a kernel that this driver cannot build; make another plan.
    bool build_kernels(const volatile uint32_t* cancel);
    void make_residents();
    Recording& recording_for(const std::vector<Place>& places);

    Device& device_;
    Plan plan_;
    Buffer resident_;
    Parameters parameters_;
    std::vector<std::unique_ptr<Recording>> recordings_;  // last used first
    std::vector<bp_slot> slots_;
    std::string summary_;
    uint64_t compile_ns_ = 0;
    uint32_t cache_hits_ = 0;
    bool plan_only_ = false;
};

}  // namespace backplane::opencl
