// The rules of ops.h: which attributes an op has, and what shape follows from its operands. A graph that lies is refused here, so that
// lowerings need not look.
#pragma once

#include "lowering.hpp"

namespace backplane::vulkan {

// Of an op with all operands it needs. BP_WHY_ATTRIBUTE: an attribute the op does not have or a value it does not take;
// BP_WHY_SHAPE: dimensions that do not fit.
Verdict check_shapes(const Plan& plan, const Node& node);

}  // namespace backplane::vulkan
