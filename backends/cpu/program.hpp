// A compiled graph: steps, the memory they need, and what is bound at each run.
#pragma once

#include <vector>

#include "lowering.hpp"
#include "memory.hpp"

namespace backplane::cpu {

class Device;

class Program {
public:
    // Throws Failure: BP_UNSUPPORTED names the node and why; BP_NO_DEVICE_MEMORY when workspace_limit does not suffice.
    Program(Device& device, const bp_graph* graph, const bp_compile& how);

    [[nodiscard]] bp_program_info info() const;
    // `given` and `room`: bytes at each side.
    void pack(uint32_t slot, const std::byte* plain, uint64_t given, std::byte* packed, uint64_t room);
    void run(const bp_run& run);

private:
    void make_summary();
    void make_residents();

    Device& device_;
    Plan plan_;
    HostMemory resident_;
    std::vector<bp_slot> slots_;
    std::string summary_;
    uint64_t compile_ns_ = 0;
    bool plan_only_ = false;
};

}  // namespace backplane::cpu
