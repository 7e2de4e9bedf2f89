// Element-wise float32 kernels over rows. Numbers of ops are those of ops.h.
#pragma once

#include <stdint.h>

namespace backplane::cpu {

// out[i] = op(in[i]) for i < n; in may be out. a, b: attributes, as backend::function_post() has them.
using UnaryKernel = void (*)(const float* in, float* out, int64_t n, float a, float b);
// out[i] = op(x[i * x_step], y[i * y_step]) for i < n; steps are 0 or 1; out may be x or y where that step is 1.
using BinaryKernel = void (*)(const float* x, int64_t x_step, const float* y, int64_t y_step, float* out, int64_t n);

struct ElementwiseKernels {
    UnaryKernel unary[64];    // by op id; null: not there
    BinaryKernel binary[64];  // by op id
    int64_t lanes;            // floats in a vector
};

}  // namespace backplane::cpu
