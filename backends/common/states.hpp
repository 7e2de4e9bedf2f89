// States in place: the new value of a state gets the state's memory unless somebody reads the old content later.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/graph.hpp"

namespace backplane::backend {

// The steps that matter to a state.
struct StorageUses {
    static constexpr size_t kNoStep = SIZE_MAX;
    size_t written_first = kNoStep;
    size_t read_last = 0;  // the step before which it is read for the last time; 0: never
};

// Of a plan whose work is `steps`; each_value(step, f) calls f(value, is it written) for what a step touches. A step says whether it `copies` what it
// reads and that is all, and whether an element of what it writes depends `alone` on the elements in its place. copy(next, state) is a step. Copies
// come last; steps that have nothing to do any more go.
template <typename Plan, typename Step, typename Copy>
void place_states(Plan& plan, std::vector<Step>& steps, Copy&& copy) {
    constexpr size_t kNoStep = StorageUses::kNoStep;
    std::vector<StorageUses> uses(plan.values.size());  // found once for all states
    const auto note = [&](size_t i) {
        each_value(steps[i], [&](ValueId id, bool written) {
            StorageUses& of = uses[plan.storage_of(id)];
            if (!written) of.read_last = i + 1;
            if (written && of.written_first == kNoStep) of.written_first = i;
        });
    };
    for (size_t i = 0; i < steps.size(); ++i) note(i);
    std::vector<bool> taken(plan.values.size());  // states that are written in place already
    std::vector<bool> idle(steps.size());
    for (const ValueId next : plan.outputs) {
        const ValueId state = plan[next].state;
        if (state == kNone) continue;
        const size_t writer = uses[next].written_first;
        bool reads = false;      // the writer reads the old content
        bool elsewhere = false;  // not of the elements in their places
        if (writer != kNoStep)
            each_value(steps[writer], [&](ValueId id, bool written) {
                if (written || plan.storage_of(id) != state) return;
                reads = true;
                elsewhere |= plan[id].dim != plan[next].dim;
            });
        // All steps from the writer on that read the old content would see the new one.
        const bool seen = writer != kNoStep && (uses[state].read_last > writer + 1 ||
                                                (reads && !steps[writer].copies && (!steps[writer].alone || elsewhere)));
        if (taken[state] || seen || plan.storage_of(next) != next) {
            steps.push_back(copy(next, state));
            idle.push_back(false);
            note(steps.size() - 1);
            continue;
        }
        if (reads && steps[writer].copies) idle[writer] = true;
        plan[next].inside = state;
        uses[state].read_last = std::max(uses[state].read_last, uses[next].read_last);
        taken[state] = true;
    }
    size_t kept = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
        if (idle[i]) continue;
        if (kept != i) steps[kept] = std::move(steps[i]);
        ++kept;
    }
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(kept), steps.end());
}

}  // namespace backplane::backend
