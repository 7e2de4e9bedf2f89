// A compiled graph: steps, the memory they need, and what is bound at each run.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "device.hpp"
#include "lowering.hpp"
#include "memory.hpp"

namespace backplane::cpu {

class Program {
public:
    // Throws Failure: BP_UNSUPPORTED names the node and why; BP_NO_DEVICE_MEMORY when workspace_limit does not suffice.
    Program(Device& device, const bp_graph& graph, const bp_compile& how);

    [[nodiscard]] bp_program_info info() const;
    void pack(uint32_t slot, const bp_copy& c);
    // Checks all of it, then submits the work.
    void run(const bp_run& run);

private:
    using Bases = std::vector<std::byte*>;
    void bind(const bp_run& run, Bases& bases);
    // Of bindings that were fine at one of the last runs nothing is asked again.
    void check_overlaps(const Bases& bases);
    void compute(const Bases& bases, const volatile uint32_t* cancel) const;
    void make_summary();
    void make_residents();

    Device& device_;
    Plan plan_;
    HostMemory resident_;
    std::vector<bp_slot> slots_;
    std::string summary_;
    uint64_t compile_ns_ = 0;
    bool plan_only_ = false;
    std::atomic<bool> brief_{false};  // the last submitted run was
    // Of the calls on the queue that computes, which come one at a time.
    static_assert(Device::kQueues == 1);
    std::array<Bases, 4> fine_;  // a host's frames take turns
    size_t next_fine_ = 0;
    std::vector<bp_binding> bindings_;
    Bases bound_;  // of a run that is done in the call: room that is used again
};

}  // namespace backplane::cpu
