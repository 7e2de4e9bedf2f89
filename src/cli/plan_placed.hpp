// What `plan` prints of a network whose parts are placed on devices by name or by costs.
#pragma once

#include "cli/cli.hpp"

namespace backplane::cli {

// 40 columns for what is there, or needed where that is more or nobody knows it.
std::string bar_of(const Fit& way);

// `plan`: {"components": [a session's plan with its "name", of layers on several devices also "part" and "parts"]}. A table of what each device has of
// each component, a picture of the same, and which device is at work in the order of running.
void print_placed_plan(const Json& plan);

}  // namespace backplane::cli
