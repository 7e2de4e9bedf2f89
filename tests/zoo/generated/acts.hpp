// What the generated module does to the process that it is in.
#pragma once

#include "zoo/generated/plan.hpp"

namespace zoo {

// Reads the plan beside the module. Called first of all.
void read_the_plan();

// Is it time for the planned act at this place? Counts the calls. If it is, does it; what can only be answered (an error, a null handle) is
// left to the caller. The act, or `count` for none.
Act act_at(Place place);

// The plan says that something happens there, now or later.
bool is_planned(Place place);

void write_line(const char* file, const char* text);  // in the plan's folder, whole

}  // namespace zoo
