// What normalisations do with a row once its statistics are known, and softmax.
#pragma once

#include <stdint.h>

namespace backplane::cpu {

struct NormalizeKernels {
    // out[i] = (x[i] - mean) * factor * scale[i] + bias[i]; scale and bias may be null.
    void (*row)(const float* x, float* out, int64_t n, float mean, float factor, const float* scale, const float* bias);
    // out[i] = (x[i] - mean) * factor + bias
    void (*affine)(const float* x, float* out, int64_t n, float mean, float factor, float bias);
    // out[i] = (x[i] - mean[i]) * factor[i] + bias[i]
    void (*affine_columns)(const float* x, float* out, int64_t n, const float* mean, const float* factor, const float* bias);
    // Of one row of n >= 1.
    void (*softmax)(const float* x, float* out, int64_t n);
    // Of `columns` columns side by side, each n elements `stride` floats apart, in operand and result.
    void (*softmax_columns)(const float* x, float* out, int64_t n, int64_t stride, int64_t columns);
    // The same, of its logarithm.
    void (*log_softmax)(const float* x, float* out, int64_t n);
    void (*log_softmax_columns)(const float* x, float* out, int64_t n, int64_t stride, int64_t columns);
    // out[i] = a[i] * (1 - t) + b[i] * t
    void (*blend)(const float* a, const float* b, float t, float* out, int64_t n);
};

}  // namespace backplane::cpu
