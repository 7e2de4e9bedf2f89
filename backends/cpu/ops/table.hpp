// The ops of this backend: each file of ops/ that defines an OpFamily is in the list, which the build makes of the folder.
#pragma once

#include "lowering.hpp"
#include "op_families_generated.h"  // BP_CPU_OPS(X): X(name) of each ops/NAME.cpp that defines `const OpFamily ops_NAME`

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
BP_CPU_OPS(BP_CPU_OP_FAMILY)
#undef BP_CPU_OP_FAMILY

}  // namespace backplane::cpu
