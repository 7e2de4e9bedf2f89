// Between float32 and the half-precision types: round to nearest even, infinities, NaN and subnormals kept.
#pragma once

#include <stdint.h>

namespace backplane::cpu {

struct ConvertKernels {
    void (*f16_to_f32)(const uint16_t* in, float* out, int64_t n);
    void (*f32_to_f16)(const float* in, uint16_t* out, int64_t n);
    void (*bf16_to_f32)(const uint16_t* in, float* out, int64_t n);
    void (*f32_to_bf16)(const float* in, uint16_t* out, int64_t n);
};

}  // namespace backplane::cpu
