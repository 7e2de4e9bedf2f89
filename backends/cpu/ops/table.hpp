// The ops of this backend: each file of ops/ that defines an OpFamily is in the list, which the build makes of the folder.
#pragma once

#include <span>

#include "lowering.hpp"

namespace backplane::cpu {

using OpFamily = std::span<const OpLowering>;
#include "cpu_op_families.h"

}  // namespace backplane::cpu
