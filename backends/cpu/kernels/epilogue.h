// What a convolution or matrix product does with its sums before it stores them.
#pragma once

#include <stdint.h>

#include "backplane/ops.h"

namespace backplane::cpu {

enum EpilogueKind { kEpilogueBias = 0, kEpilogueUnary = 1, kEpilogueScale = 2, kEpilogueAdd = 3, kEpilogueRowBias = 4 };

struct EpilogueOp {
    int32_t kind;
    uint32_t op;        // unary: BP_OP_*, one that epilogue_does()
    float a, b;         // unary: attributes; scale: the factor
    const float* data;  // bias: one a column; row bias: that of row r is data[r * stride]; add: the other operand
    int64_t stride;     // add, row bias: floats between rows
};

constexpr int kMostEpilogueOps = 8;  // of those that fusion finds

struct Epilogue {
    int32_t count = 0;
    EpilogueOp ops[kMostEpilogueOps + 1];  // one before them adds what is there already, of a sum in parts
};

constexpr bool epilogue_does(uint32_t op) {
    return op == BP_OP_relu || op == BP_OP_leaky_relu || op == BP_OP_clip || op == BP_OP_silu || op == BP_OP_sigmoid ||
           op == BP_OP_tanh;
}

}  // namespace backplane::cpu
