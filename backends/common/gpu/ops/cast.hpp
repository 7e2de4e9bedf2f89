// Conversion between element types, for the ops that need one on the way.
#pragma once

#include "common/gpu/lowering.hpp"

namespace backplane::gpu::ops::cast {

void add_cast(Lowering& to, ValueId in, ValueId out);

}  // namespace backplane::gpu::ops::cast
