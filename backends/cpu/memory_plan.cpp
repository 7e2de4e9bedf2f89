// Places every value: temporaries in one workspace, sharing bytes when they are never alive together.
#include "common/workspace.hpp"
#include "memory.hpp"
#include "plan.hpp"

namespace backplane::cpu {

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
    for (ValueId id = 0; id < plan.values.size(); ++id) {
        const ValueId from = plan.storage_of(id);
        plan[id].base = plan[from].base;
        plan[id].offset = plan[from].offset;
    }
}

}  // namespace backplane::cpu
