// A tiny network whose result is known, as a host would run it.
#pragma once

#include <functional>
#include <string>

#include "backplane/context.hpp"

namespace backplane::probe {

// Asks the device, compiles for it and runs twice; `step` hears what comes next. Returns what is wrong with the result, empty when it is
// right or when the device does none of it. Throws Error as the module says it.
std::string golden_case(const Device& device, const std::function<void(const char*)>& step);

}  // namespace backplane::probe
