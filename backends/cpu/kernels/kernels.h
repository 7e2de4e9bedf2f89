// The kernel tables: one struct of functions per family, filled per instruction set. A family is kernels/NAME.h (its struct) and
// kernels/NAME.cpp; adding one is those two files and one line in BP_CPU_FAMILIES.
#pragma once

#include "kernels/attention.h"
#include "kernels/conv.h"
#include "kernels/convert.h"
#include "kernels/elementwise.h"
#include "kernels/halves.h"
#include "kernels/matmul.h"
#include "kernels/move.h"
#include "kernels/normalize.h"
#include "kernels/peak.h"
#include "kernels/planar.h"
#include "kernels/recurrent.h"
#include "kernels/reduce.h"
#include "kernels/tiles.h"
#include "kernels/winograd.h"

// X(family, Table), one a line: CMakeLists.txt reads these lines too.
#define BP_CPU_FAMILIES(X)             \
    X(attention, AttentionKernels)     \
    X(conv, ConvKernels)               \
    X(elementwise, ElementwiseKernels) \
    X(convert, ConvertKernels)         \
    X(halves, HalvesKernels)           \
    X(matmul, MatMulKernels)           \
    X(move, MoveKernels)               \
    X(normalize, NormalizeKernels)     \
    X(peak, PeakKernels)               \
    X(planar, PlanarKernels)           \
    X(recurrent, RecurrentKernels)     \
    X(reduce, ReduceKernels)           \
    X(tiles, TilesKernels)             \
    X(winograd, WinogradKernels)

namespace backplane::cpu {

struct Kernels {
    const char* level = "";
#define BP_CPU_MEMBER(family, Table) Table family;
    BP_CPU_FAMILIES(BP_CPU_MEMBER)
#undef BP_CPU_MEMBER
};

}  // namespace backplane::cpu
