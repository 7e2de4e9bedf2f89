// The costs of devices for commands that ask about time: those that are known, and measuring those that are not.
#pragma once

#include <vector>

#include "backplane/cost.hpp"
#include "cli/cli.hpp"

namespace backplane::cli {

// Measures what is not known, or all; says so on the error stream, where this is not for a program. Returns what could not be measured, a sentence each.
std::vector<std::string> measure_costs(CostModel& costs, const std::vector<Device>& devices, bool again, Run& run);

Json costs_json(const DeviceCosts& costs);
DeviceCosts costs_from(const Json& json);  // as that has it, or with "fixed_us" and "per_second" alone. Throws JsonError
void print_costs(const std::vector<std::pair<std::string, const DeviceCosts*>>& all);  // by device

// "12.3 ms", below ten with two digits behind the point.
std::string milliseconds(double seconds);
// "-" where nothing is known.
std::string milliseconds(const Prediction& prediction);
// "3 runs" of its network, "5 other networks" that ran there; "-" where it is what ops add up to.
std::string corrected_by(const Prediction& prediction);

}  // namespace backplane::cli
