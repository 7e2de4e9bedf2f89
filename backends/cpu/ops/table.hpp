// The ops of this backend. Adding one: its file, its line in the list below.
#pragma once

#include "lowering.hpp"

namespace backplane::cpu {

// X(name): ops/*.cpp defines `extern const OpFamily ops::NAME::ops_NAME`.
#define BP_CPU_OPS(X) \
    X(elementwise)    \
    X(cast)           \
    X(conv)           \
    X(gather)         \
    X(matmul)         \
    X(moves)          \
    X(normalize)      \
    X(pad)            \
    X(reduce)         \
    X(resize)         \
    X(softmax)        \
    X(relayout)

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
