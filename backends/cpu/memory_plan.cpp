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

constexpr size_t kNoStep = SIZE_MAX;

// Of each storage, the steps that matter to a state: found once for all of them.
struct Touched {
    struct Of {
        size_t written_first = kNoStep;  // none
        size_t read_last = 0;            // the step before which it is read for the last time; 0: never read
    };
    std::vector<Of> of;

    explicit Touched(const Plan& plan) : of(plan.values.size()) {
        for (size_t i = 0; i < plan.steps.size(); ++i) note(plan, i);
    }
    void note(const Plan& plan, size_t step) {
        for (const ValueId id : plan.steps[step].writes)
            if (size_t& first = of[plan.storage_of(id)].written_first; first == kNoStep) first = step;
        for (const ValueId id : plan.steps[step].reads) of[plan.storage_of(id)].read_last = step + 1;
    }
};

// `writer`: the first step that writes `next`. All steps from there on that read the old content would see the new one.
bool can_be_in_place(const Plan& plan, const Touched& touched, size_t writer, ValueId state, ValueId next) {
    if (plan[next].same_storage_as != kNone) return false;  // its bytes are those of another value
    if (writer == kNoStep) return true;
    if (touches(plan, plan.steps[writer].reads, state) && !may_overwrite(plan, plan.steps[writer], state, next))
        return false;
    return touched.of[state].read_last <= writer + 1;
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
    std::vector<bool> idle(plan.steps.size());    // steps that have nothing to do
    Touched touched(plan);
    for (const ValueId next : plan.outputs) {
        const ValueId state = plan[next].state;
        if (state == kNone) continue;
        const size_t writer = touched.of[next].written_first;
        if (!taken[state] && can_be_in_place(plan, touched, writer, state, next)) {
            if (writer != kNoStep)
                idle[writer] = plan.steps[writer].copies && touches(plan, plan.steps[writer].reads, state);
            plan[next].same_storage_as = state;
            touched.of[state].read_last = std::max(touched.of[state].read_last, touched.of[next].read_last);
            taken[state] = true;
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
        touched.note(plan, plan.steps.size() - 1);
    }
    size_t kept = 0;
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        if (i < idle.size() && idle[i]) continue;
        if (kept != i) plan.steps[kept] = std::move(plan.steps[i]);
        ++kept;
    }
    plan.steps.erase(plan.steps.begin() + static_cast<std::ptrdiff_t>(kept), plan.steps.end());
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
