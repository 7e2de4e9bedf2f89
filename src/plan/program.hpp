// A graph compiled for one device, and what it wants bound.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backplane/graph.hpp"
#include "plan/port.hpp"

namespace backplane::plan {

struct ProgramSlot {
    uint32_t tensor = 0;
    uint64_t bytes = 0, alignment = 0, layout = 0;
};

struct Facts {  // of a program; see bp_program_info
    uint64_t workspace_bytes = 0, workspace_alignment = 0, resident_bytes = 0, host_bytes = 0, compile_ns = 0;
    uint64_t moved_bytes = UINT64_MAX;  // that one run only moves; UINT64_MAX: unsaid
    uint32_t kernels = 0, cache_hits = 0;
    std::vector<ProgramSlot> slots;
    std::string summary;
};

struct CompileHow {
    bool plan_only = false;
    uint32_t math = 0;
    uint64_t workspace_limit = 0;
    const std::atomic<uint32_t>* cancel = nullptr;
};

// Threads: [any] but run and pack, which the Port serialises.
class Program {
public:
    // Throws Error: what the module says of the graph; internal when what it says cannot be.
    static std::shared_ptr<const Program> compile(std::shared_ptr<Port> port, const Graph& graph, const CompileHow& how);
    // Takes a handle of the module over. `tensors`: of its graph.
    Program(std::shared_ptr<Port> port, bp_program* handle, size_t tensors);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    [[nodiscard]] const Facts& facts() const noexcept { return facts_; }
    [[nodiscard]] Port& port() const noexcept { return *port_; }
    [[nodiscard]] bp_program* handle() const noexcept { return handle_; }

private:
    std::shared_ptr<Port> port_;
    bp_program* handle_;
    Facts facts_;
};

// What a module reads as an atomic through a volatile pointer.
const volatile uint32_t* flag_of(const std::atomic<uint32_t>* cancel) noexcept;

}  // namespace backplane::plan
