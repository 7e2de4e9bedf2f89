// Where values lie at a run: bound by the host, kept by the program, or in the one workspace, whose bytes are shared by what is never alive
// together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/graph.hpp"

namespace backplane::backend {

// Value::base: which memory a value's offset counts from.
inline constexpr uint32_t kWorkspace = 0;  // lent by the host for one run
inline constexpr uint32_t kResident = 1;   // held by the program
inline constexpr uint32_t kFirstSlot = 2;  // + index of the slot

constexpr uint64_t aligned(uint64_t bytes, uint64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

// The steps of a program from the first to the last that touches a value.
struct Life {
    size_t first = SIZE_MAX, last = 0;
    uint64_t bytes = 0, offset = 0;

    void touch(size_t step, uint64_t needs) {
        first = std::min(first, step);
        last = std::max(last, step);
        bytes = std::max(bytes, needs);
    }
    [[nodiscard]] bool touched() const { return first <= last; }
};

struct Placed {
    uint64_t bytes = 0;   // of the workspace
    uint64_t visits = 0;  // of values that are placed already, by those that looked for room beside them
};
// Largest first, each at the lowest offset that is free during its whole life; of very many that live together, in the order in which they begin.
Placed place(std::vector<Life*> lives);

// Gives base and offset to the residents and slots of a backend's plan, and in its workspace to all else that is touched; fills
// resident_bytes and workspace_bytes. `lives`: of each value, its bytes aligned.
template <typename Plan>
void place_values(Plan& plan, const std::vector<ValueId>& residents, std::vector<Life> lives, uint64_t alignment) {
    for (const ValueId id : residents) {
        plan[id].base = kResident;
        plan[id].offset = plan.resident_bytes;
        plan.resident_bytes += aligned(plan[id].bytes, alignment);
        lives[id] = {};
    }
    for (uint32_t i = 0; i < plan.slots.size(); ++i) {
        plan[plan.slots[i].value].base = kFirstSlot + i;
        lives[plan.slots[i].value] = {};
    }
    std::vector<Life*> temporaries;
    for (Life& life : lives)
        if (life.touched()) temporaries.push_back(&life);
    plan.workspace_bytes = place(temporaries).bytes;
    for (ValueId id = 0; id < lives.size(); ++id) {
        if (!lives[id].touched()) continue;
        plan[id].base = kWorkspace;
        plan[id].offset = lives[id].offset;
    }
}

}  // namespace backplane::backend
