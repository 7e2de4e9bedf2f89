// Convolutions whose maps stay row-major.
#pragma once

#include "lowering.hpp"

namespace backplane::cpu::ops::conv {

// Fewer would leave most lanes of a vector empty.
inline constexpr int64_t kFewestPixels = 32;
// So many chunks of work leave no thread of some without its share.
inline constexpr int64_t kEnoughChunks = 64;

inline int64_t parts(int64_t n, int64_t size) { return (n + size - 1) / size; }

// One pixel by one pixel, steps of 1, one group; the input may be of several segments.
void lower_pixels(Lowering& to, const Node& node);

// One filter a channel, steps of 1 along rows. `task`: all but addresses.
bool planes_fit(const ConvTask& task);
void lower_planes(Lowering& to, const Node& node, const ConvTask& task);

}  // namespace backplane::cpu::ops::conv
