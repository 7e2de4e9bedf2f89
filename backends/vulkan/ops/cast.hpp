// Conversion between element types, for the ops that need one on the way.
#pragma once

#include "lowering.hpp"

namespace backplane::vulkan {

void add_cast(Lowering& to, ValueId in, ValueId out);

}  // namespace backplane::vulkan
