// The handle that fit.h makes and cost.h takes.
#pragma once

#include "backplane/fit.h"
#include "backplane/fit.hpp"
#include "capi/handles.hpp"

struct backplane_fits {
    std::vector<backplane::Device> devices;
    std::vector<backplane::Fit> ways;
};

namespace backplane::capi {

// Throws Error(not_found).
const Fit& way_of(const backplane_fits& fits, uint32_t i);
// The place of its device among those that were given.
uint32_t place_of(const backplane_fits& fits, const Fit& way);

}  // namespace backplane::capi
