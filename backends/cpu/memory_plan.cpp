// Places every value: states where they stand, temporaries in one workspace, sharing bytes when they are never alive together.
#include <cstring>

#include "common/states.hpp"
#include "common/workspace.hpp"
#include "lowering.hpp"
#include "memory.hpp"

namespace backplane::cpu {

void place_states(Plan& plan) {
    backend::place_states(plan, plan.steps, [&](ValueId next, ValueId state) {
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
    for (const ValueId id : backend::constants_of(plan, plan.steps)) plan.residents.push_back({id, id, {}});
    std::vector<ValueId> residents;
    for (const Resident& resident : plan.residents) residents.push_back(resident.value);
    backend::place_values(plan, plan.steps, residents, kAlignment);
}

}  // namespace backplane::cpu
