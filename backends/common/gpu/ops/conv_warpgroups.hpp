// Convolutions of f16 on matrix units of warpgroups (Abilities::warpgroups), of maps in planes or in bundles.
#pragma once

#include "common/gpu/lowering.hpp"

namespace backplane::gpu::ops::conv {

// False: it is none of these.
bool lower_on_warpgroups(Lowering& to, const Node& node, const ConvParameters& parameters);

}  // namespace backplane::gpu::ops::conv
