// Places every value: states where they stand, temporaries in one workspace, sharing bytes when they are never alive together.
#include "common/gpu/plan.hpp"
#include "common/states.hpp"
#include "common/workspace.hpp"

namespace backplane::gpu {

void place_states(Plan& plan) {
    const auto touched = [](const Dispatch& d, auto&& touch) {
        for (const Operand& operand : d.operands) touch(operand.value, operand.written);
    };
    const auto in_place = [&](ValueId next, ValueId state) { plan[next].inside = state; };
    backend::place_states(plan, plan.dispatches, touched, in_place, [&](ValueId next, ValueId state) {
        Dispatch copy;
        copy.label = "update state " + plan[next].text();
        copy.operands = {{next, 1, false}, {state, 1, true}};
        return copy;
    });
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
