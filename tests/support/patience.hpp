// Time for trials of modules, for tests of what comes after them.
#pragma once

#include <chrono>

#include "backplane/context.hpp"

namespace backplane::test {

// On a busy machine a driver takes longer to make its first kernels than users wait for it; what was not back in time is kept out for an hour,
// of the tests behind it, too.
inline ContextOptions patient(ContextOptions options = {}) {
    options.probe_limit = options.probe_budget = std::chrono::minutes(5);
    return options;
}

}  // namespace backplane::test
