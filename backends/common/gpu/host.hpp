#pragma once

#include "common/host.hpp"

namespace backplane::gpu {

using backend::Host;

}  // namespace backplane::gpu
