// Between float32 and the half-precision types, and to q8_0: round to nearest even, infinities, NaN and subnormals kept.
#pragma once

#include <stdint.h>

namespace backplane::cpu {

struct ConvertKernels {
    void (*f16_to_f32)(const uint16_t* in, float* out, int64_t n);
    void (*f32_to_f16)(const float* in, uint16_t* out, int64_t n);
    void (*bf16_to_f32)(const uint16_t* in, float* out, int64_t n);
    void (*f32_to_bf16)(const float* in, uint16_t* out, int64_t n);
    // n is a multiple of 32. Digits are rounded to the nearest, halves away from zero; the largest of a block is 127 or -127.
    void (*f32_to_q8)(const float* in, uint8_t* out, int64_t n);
};

}  // namespace backplane::cpu
