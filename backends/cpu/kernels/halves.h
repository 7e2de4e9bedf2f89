// Matrix product of two sides in bf16, sums in float32: two products to an instruction where the processor has it.
#pragma once

#include <stdint.h>

#include "kernels/epilogue.h"

namespace backplane::cpu {

struct HalvesTask {
    const uint16_t* a = nullptr;  // rows x depth, row-major; depth rounded up to even, with zeros
    int64_t a_row = 0;            // numbers between rows
    const uint16_t* b = nullptr;  // packed as kPackedBF16
    float* out = nullptr;
    int64_t out_row = 0, depth = 0, columns = 0;
    uint32_t* panel = nullptr;  // HalvesKernels::panel_words
    Epilogue epilogue;
};

struct HalvesKernels {
    int64_t panel_words;
    // To the nearest, ties to even; of an odd number of them one zero more is written. Subnormal numbers become zero.
    void (*round)(const float* from, int64_t n, uint16_t* into);
    // Rows [row_begin, row_end) and columns [column_begin, column_end), as MatMulKernels::run. Null: this instruction set has nothing better
    // than floats; so is `round`.
    void (*run)(const HalvesTask& task, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end);
};

}  // namespace backplane::cpu
