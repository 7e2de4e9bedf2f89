// Convolutions whose invocations read a window of the map once, for all that they make of it: of 3 x 3 that halve maps of one channel a group, and
// along frames whose channels come last. Kernels that are compiled with the module alone (Abilities::few_kernels).
#pragma once

#include "common/gpu/lowering.hpp"

namespace backplane::gpu::ops::conv {

// Node::part of a convolution along frames that reads a gated pair of halves.
inline constexpr uint32_t kGatedFrames = 2;

// Has such convolutions read what a Mul in front of them by one number a row or frame, or a gate, reads: they multiply by themselves.
void take_factors(Plan& plan, const Abilities& can);
// False: it is none of these.
bool lower_window(Lowering& to, const Node& node);

}  // namespace backplane::gpu::ops::conv
