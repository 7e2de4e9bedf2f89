// The combinations there are, and a sample of them by a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "zoo/generated/plan.hpp"

namespace zoo {

std::string text_of(const Plan& plan);  // what read() reads

// Every combination that means something: a function that returns nothing answers no error, open() has no tenth call, ...
std::vector<Plan> all_plans();

// `count` of them: first each pair of a place and an act once, in a shuffled order, with who, when and which file by lot; then the pairs
// again. The same for the same seed on every machine.
std::vector<Plan> sample(uint64_t seed, size_t count);

// ---- what an act is to the process that it is done in -----------------------------------------------------------------------------------

bool ends_the_process(const Plan& plan);  // or hangs it; a thrown object where nobody can catch it counts
bool is_swallowed(const Plan& plan);      // thrown out of a call that has no answer: the module may be used, or not
bool computes_wrongly(const Plan& plan);
bool holds_up(const Plan& plan);     // a trial of it may take the whole limit
bool is_harmless(const Plan& plan);  // the module may be used: it is slow, leaves something, changes the process
bool changes_what_is_put_back(const Plan& plan);  // by the library: rounding after any call, the rest where the trial saw it
bool is_told(
    const Plan& plan);  // a change of the process that the trial sees when it is made there, and the report then tells of

// ---- what no library in the process can meet at the second start, in the words of docs/testing.md ------------------------------------------

// A death that says nothing of its cause (killed, a hang that somebody ended, _exit), in the first call of a kind that may take minutes: the
// module is used once more, and kept out after the second. docs/discovery.md, "Once, not at every start".
bool is_used_once_more(const Plan& plan);

// The same in a later such call, where it looks like any application that is killed while it computes; and what a module does beside all
// calls, to an application alone: on a thread of its own, in code that is gone, or when the process ends and everything is closed.
bool is_not_met(const Plan& plan);

}  // namespace zoo
