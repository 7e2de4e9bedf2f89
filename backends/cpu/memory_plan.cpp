// Places every value: states where they stand, temporaries in one workspace, sharing bytes when they are never alive together.
#include <algorithm>
#include <cstring>

#include "common/workspace.hpp"
#include "lowering.hpp"
#include "memory.hpp"

namespace backplane::cpu {

namespace {

bool touches(const Plan& plan, const std::vector<ValueId>& values, ValueId storage) {
    return std::any_of(values.begin(), values.end(), [&](ValueId id) { return plan.storage_of(id) == storage; });
}

// What a step reads of the old content does not matter to it when it writes the new one in its place.
bool may_overwrite(const Plan& plan, const Step& step, ValueId state, ValueId next) {
    if (step.copies) return true;
    return step.alone && std::all_of(step.reads.begin(), step.reads.end(), [&](ValueId id) {
               return plan.storage_of(id) != state || plan[id].dim == plan[next].dim;
           });
}

// The first step that writes `next`; none: steps.end(). All steps from there on that read the old content would see the new one.
bool can_be_in_place(const Plan& plan, std::vector<Step>::const_iterator writer, ValueId state, ValueId next) {
    if (plan[next].same_storage_as != kNone) return false;  // its bytes are those of another value
    if (writer != plan.steps.end() && touches(plan, writer->reads, state) && !may_overwrite(plan, *writer, state, next))
        return false;
    return writer == plan.steps.end() ||
           std::none_of(writer + 1, plan.steps.end(), [&](const Step& step) { return touches(plan, step.reads, state); });
}

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
    std::vector<bool> taken(plan.values.size());  // states that are written in place already
    for (const ValueId next : plan.outputs) {
        const ValueId state = plan[next].state;
        if (state == kNone) continue;
        const auto writer = std::find_if(plan.steps.begin(), plan.steps.end(),
                                         [&](const Step& step) { return touches(plan, step.writes, next); });
        if (!taken[state] && can_be_in_place(plan, writer, state, next)) {
            const bool nothing_to_do = writer != plan.steps.end() && writer->copies && touches(plan, writer->reads, state);
            plan[next].same_storage_as = state;
            taken[state] = true;
            if (nothing_to_do) plan.steps.erase(writer);
            continue;
        }
        Step copy;
        copy.label = "update state " + plan[next].text();
        copy.reads = {next};
        copy.writes = {state};
        copy.moved = plan[next].bytes;
        copy.run = [next, state, bytes = plan[next].bytes](const Run& run) {
            if (bytes != 0) std::memcpy(run.at<std::byte>(state), run.at<std::byte>(next), bytes);
        };
        plan.steps.push_back(std::move(copy));
    }
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
