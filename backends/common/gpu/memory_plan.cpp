// Places every value: states where they stand, temporaries in one workspace, sharing bytes when they are never alive together.
#include <algorithm>

#include "common/gpu/plan.hpp"
#include "common/workspace.hpp"

namespace backplane::gpu {

namespace {

using Dispatches = std::vector<Dispatch>;

bool touches(const Plan& plan, const Dispatch& d, ValueId storage, bool written) {
    return std::any_of(d.operands.begin(), d.operands.end(), [&](const Operand& operand) {
        return operand.written == written && plan.storage_of(operand.value) == storage;
    });
}

// What a dispatch reads of the old content does not matter to it when it writes the new one in its place.
bool may_overwrite(const Plan& plan, const Dispatch& d, ValueId state, ValueId next) {
    if (d.copies) return true;
    return d.alone && std::all_of(d.operands.begin(), d.operands.end(), [&](const Operand& operand) {
               return operand.written || plan.storage_of(operand.value) != state ||
                      plan[operand.value].dim == plan[next].dim;
           });
}

// `writer`: the first dispatch that writes `next`, or the end. All from there on that read the old content would see the new one.
bool can_be_in_place(const Plan& plan, Dispatches::const_iterator writer, ValueId state, ValueId next) {
    if (plan[next].inside != kNone) return false;
    if (writer == plan.dispatches.end()) return true;
    return (!touches(plan, *writer, state, false) || may_overwrite(plan, *writer, state, next)) &&
           std::none_of(writer + 1, plan.dispatches.end(),
                        [&](const Dispatch& d) { return touches(plan, d, state, false); });
}

}  // namespace

void place_states(Plan& plan) {
    std::vector<bool> taken(plan.values.size());  // states that are written in place already
    for (const ValueId next : plan.outputs) {
        const ValueId state = plan[next].state;
        if (state == kNone) continue;
        const auto writer = std::find_if(plan.dispatches.begin(), plan.dispatches.end(),
                                         [&](const Dispatch& d) { return touches(plan, d, next, true); });
        if (!taken[state] && can_be_in_place(plan, writer, state, next)) {
            const bool nothing_to_do =
                writer != plan.dispatches.end() && writer->copies && touches(plan, *writer, state, false);
            plan[next].inside = state;
            taken[state] = true;
            if (nothing_to_do) plan.dispatches.erase(writer);
            continue;
        }
        Dispatch d;
        d.label = "update state " + plan[next].text();
        d.operands = {{next, 1, false}, {state, 1, true}};
        plan.dispatches.push_back(std::move(d));
    }
}

void plan_memory(Plan& plan, uint64_t alignment) {
    std::vector<backend::Life> lives(plan.values.size());
    for (size_t i = 0; i < plan.dispatches.size(); ++i)
        for (const Operand& operand : plan.dispatches[i].operands) {
            const ValueId storage = plan.storage_of(operand.value);
            lives[storage].touch(i, backend::aligned(plan[storage].bytes, alignment));
        }
    backend::place_values(plan, plan.residents, std::move(lives), alignment);
    for (ValueId id = 0; id < plan.values.size(); ++id) {
        uint64_t at = 0;
        const ValueId from = plan.storage_of(id, &at);
        plan[id].base = plan[from].base;
        if (from != id) plan[id].offset = plan[from].offset + at;
    }
}

}  // namespace backplane::gpu
