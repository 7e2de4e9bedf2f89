// A compiled graph: steps, the memory they need, and what is bound at each run.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
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
    [[nodiscard]] Device& device() const { return device_; }
    // Throws Failure(BP_INVALID) unless the slot is there and both sides have its bytes; `given` and `room`: bytes at each side.
    void check_pack(uint32_t slot, uint64_t given, uint64_t room) const;
    uint64_t slot_bytes(uint32_t slot) const { return plan_.slots[slot].bytes; }
    void pack(uint32_t slot, const std::byte* plain, std::byte* packed) const;
    // Checks all of it, then submits the work.
    void run(const bp_run& run);

private:
    using Bases = std::vector<std::byte*>;
    [[nodiscard]] Bases bind(const bp_run& run) const;
    // Of bindings that were fine at one of the last runs nothing is asked again.
    void check_overlaps(const Bases& bases) const;
    void compute(const Bases& bases, const volatile uint32_t* cancel) const;
    void make_summary();
    void make_residents();

    Device& device_;
    Plan plan_;
    HostMemory resident_;
    std::vector<bp_slot> slots_;
    std::vector<uint32_t> slot_of_;  // by tensor; kNone: none
    std::string summary_;
    uint64_t compile_ns_ = 0;
    bool plan_only_ = false;
    mutable std::atomic<bool> brief_{false};  // the last submitted run was
    mutable std::mutex fine_mutex_;
    mutable std::array<Bases, 4> fine_;  // a host's frames take turns
    mutable size_t next_fine_ = 0;
};

}  // namespace backplane::cpu
