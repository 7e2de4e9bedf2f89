// Matrix product with a packed right-hand side.
#pragma once

#include <stdint.h>

#include "kernels/epilogue.h"

namespace backplane::cpu {

struct MatMulTask {
    const float* a = nullptr;  // rows x depth, row-major
    int64_t a_row = 0;         // floats between rows
    const float* b = nullptr;  // packed: [block][depth][columns of the block], blocks as in ConvKernels
    float* out = nullptr;
    int64_t out_row = 0, depth = 0, columns = 0;
    Epilogue epilogue;
};

struct MatMulKernels {
    int64_t rows;  // of a full tile: ranges should be multiples
    // Rows [row_begin, row_end) and columns [column_begin, column_end); column_begin is a multiple of ConvKernels::block, so is
    // column_end unless it is the last.
    void (*run)(const MatMulTask& task, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end);
};

}  // namespace backplane::cpu
