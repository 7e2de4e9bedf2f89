// Attention whose operands are parts of others, or turned.
#pragma once

#include "common/gpu/lowering.hpp"

namespace backplane::gpu::ops::attention {

// Where the kernel can: q, k and v are read where the Slices, Reshapes and Transposes before them have them from, the result is written as a Transpose
// behind it would put it (Plan::views). What nobody reads any more is for drop_unread.
void take_as_they_lie(Plan& plan, const Abilities& can);

}  // namespace backplane::gpu::ops::attention
