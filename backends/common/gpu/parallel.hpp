// Several threads for a moment.
#pragma once

#include <cstdint>
#include <functional>

#include "common/host.hpp"

namespace backplane::gpu {

// body(i) for each i in [0, n): each on a thread of its own, the host's where it lends them, or one after another where there are none to be
// had. Returns when all have ended, and throws then what the first of them by number threw.
void in_parallel(const backend::Host& host, uint32_t n, const std::function<void(uint32_t)>& body);

}  // namespace backplane::gpu
