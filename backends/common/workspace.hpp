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

// The constants that steps of these lists touch, in their order.
template <typename Plan, typename... Steps>
std::vector<ValueId> constants_of(const Plan& plan, const Steps&... lists) {
    std::vector<ValueId> constants;
    std::vector<bool> known(plan.values.size());
    const auto note = [&](ValueId value, bool) {
        const ValueId id = plan.storage_of(value);
        if (plan[id].role != BP_ROLE_CONSTANT || known[id]) return;
        known[id] = true;
        constants.push_back(id);
    };
    const auto note_all = [&](const auto& steps) {
        for (const auto& step : steps) each_value(step, note);
    };
    (note_all(lists), ...);
    return constants;
}

// Gives base and offset to the residents and slots of a backend's plan, and in its workspace to all else that its steps touch (each_value, as in
// states.hpp), then to what lies inside another value; fills resident_bytes and workspace_bytes, and when each slot is used.
template <typename Plan, typename Step>
void place_values(Plan& plan, const std::vector<Step>& steps, const std::vector<ValueId>& residents, uint64_t alignment) {
    std::vector<Life> lives(plan.values.size());
    std::vector<bool> written(plan.values.size());
    for (size_t i = 0; i < steps.size(); ++i)
        each_value(steps[i], [&](ValueId id, bool writes) {
            const ValueId storage = plan.storage_of(id);
            lives[storage].touch(i, aligned(std::max(plan[storage].bytes, plan[id].bytes), alignment));
            if (writes) written[storage] = true;
        });
    for (const ValueId id : residents) {
        plan[id].base = kResident;
        plan[id].offset = plan.resident_bytes;
        plan.resident_bytes += aligned(plan[id].bytes, alignment);
        lives[id] = {};
    }
    for (uint32_t i = 0; i < plan.slots.size(); ++i) {
        auto& slot = plan.slots[i];
        Life& life = lives[slot.value];
        plan[slot.value].base = kFirstSlot + i;
        slot.written = written[slot.value];
        if (life.touched()) {
            slot.first_use = static_cast<uint32_t>(life.first + 1);
            slot.last_use = static_cast<uint32_t>(life.last + 1);
        }
        life = {};
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
    for (ValueId id = 0; id < plan.values.size(); ++id) {
        uint64_t at = 0;
        const ValueId storage = plan.storage_of(id, &at);
        if (storage == id) continue;
        plan[id].base = plan[storage].base;
        plan[id].offset = plan[storage].offset + at;
    }
}

// Throws Failure(BP_NO_DEVICE_MEMORY) where the workspace is larger than the host allows.
inline void check_workspace(uint64_t bytes, const bp_compile& how) {
    if (how.workspace_limit != 0 && bytes > how.workspace_limit)
        throw sdk::Failure(BP_NO_DEVICE_MEMORY, "compile: the workspace needs " + std::to_string(bytes) +
                                                    " bytes, the limit is " + std::to_string(how.workspace_limit) +
                                                    "; split the graph or the input");
}

}  // namespace backplane::backend
