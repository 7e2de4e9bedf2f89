// The ops of this backend: each file of ops/ that defines an OpFamily is in the list, which the build makes of the folder.
#pragma once

#include "cpu_op_families.h"
#include "lowering.hpp"

namespace backplane::cpu {

struct OpFamily {
    const OpLowering* first;
    size_t count;
};

// A namespace for each, so that files of ops can share a compilation.
#define BP_CPU_OP_FAMILY(name)        \
    namespace ops::name {             \
    extern const OpFamily ops_##name; \
    }
BP_OP_FAMILIES(BP_CPU_OP_FAMILY)
#undef BP_CPU_OP_FAMILY

}  // namespace backplane::cpu
