// Places every value: states where they stand, temporaries in one workspace, sharing bytes when they are never alive together.
#include <cstring>

#include "common/states.hpp"
#include "common/workspace.hpp"
#include "lowering.hpp"
#include "memory.hpp"

namespace backplane::cpu {

namespace {

// When each slot is used, by the steps.
void note_uses(Plan& plan) {
    std::vector<Slot*> slot_of(plan.values.size(), nullptr);
    for (Slot& slot : plan.slots) slot_of[slot.value] = &slot;
    for (uint32_t i = 0; i < plan.steps.size(); ++i) {
        const auto note = [&](const std::vector<ValueId>& values, bool written) {
            for (const ValueId id : values) {
                Slot* slot = slot_of[plan.storage_of(id)];
                if (slot == nullptr) continue;
                slot->written |= written;
                slot->last_use = i + 1;
                if (slot->first_use == 0) slot->first_use = i + 1;
            }
        };
        note(plan.steps[i].reads, false);
        note(plan.steps[i].writes, true);
    }
}

}  // namespace

void place_states(Plan& plan) {
    const auto touched = [](const Step& step, auto&& touch) {
        for (const ValueId id : step.reads) touch(id, false);
        for (const ValueId id : step.writes) touch(id, true);
    };
    const auto in_place = [&](ValueId next, ValueId state) { plan[next].same_storage_as = state; };
    backend::place_states(plan, plan.steps, touched, in_place, [&](ValueId next, ValueId state) {
        Step copy;
        copy.label = "update state " + plan[next].text();
        copy.reads = {next};
        copy.writes = {state};
        copy.moved = plan[next].bytes;
        copy.run = [next, state, bytes = plan[next].bytes](const Run& run) {
            if (bytes != 0) std::memcpy(run.at<std::byte>(state), run.at<std::byte>(next), bytes);
        };
        return copy;
    });
}

void plan_memory(Plan& plan) {
    std::vector<backend::Life> lives(plan.values.size());
    const auto touch = [&](const std::vector<ValueId>& values, size_t step) {
        for (const ValueId id : values) lives[plan.storage_of(id)].touch(step, backend::aligned(plan[id].bytes, kAlignment));
    };
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        touch(plan.steps[i].reads, i);
        touch(plan.steps[i].writes, i);
        touch(plan.steps[i].scratch, i);
    }
    std::vector<ValueId> residents;
    for (const Resident& resident : plan.residents) residents.push_back(resident.value);
    backend::place_values(plan, residents, std::move(lives), kAlignment);
    note_uses(plan);
    for (ValueId id = 0; id < plan.values.size(); ++id) {
        const ValueId from = plan.storage_of(id);
        plan[id].base = plan[from].base;
        plan[id].offset = plan[from].offset;
    }
}

}  // namespace backplane::cpu
