// Matrix product with a packed right-hand side.
#pragma once

#include <stdint.h>

#include "kernels/epilogue.h"

namespace backplane::cpu {

// Element types in which packed weights are kept. Blocks of columns are as in ConvKernels; `width` is the columns of one block.
//   f32, f16, bf16   [block][depth][width]
//   q8_0             [block][depth / 32] { width scales (f16), [32][width] int8 }
//   q4_0             [block][depth / 32] { width scales (f16), [16][width] bytes: low nibble depth i, high nibble depth i + 16 }
//   digits and leasts of four bits (q4_k)
//                    [block][depth / 256] { width scales (f16), width leasts (f16), 8 of { width digits of scales, width of leasts (uint8),
//                    [16][width] bytes: low nibble depth i, high nibble depth i + 16 } }
//   digits of six bits (q6_k, q3_k)
//                    [block][depth / 256] { width scales (f16), 4 of { [4][width] digits of scales, of 16 depths each (int8),
//                    [32][width] bytes: low nibble depth i, high nibble depth i + 32,
//                    [16][width] bytes: two bits each of depths i, i + 16, i + 32 and i + 48 } }
enum PackedType {
    kPackedF32 = 0,
    kPackedF16 = 1,
    kPackedBF16 = 2,
    kPackedQ8 = 3,
    kPackedQ4 = 4,
    kPackedFourBits = 5,
    kPackedSixBits = 6
};

// Bytes of one column of packed weights.
constexpr int64_t packed_column_bytes(PackedType type, int64_t depth) {
    switch (type) {
        case kPackedF32: return depth * 4;
        case kPackedQ8: return depth / 32 * 34;
        case kPackedQ4: return depth / 32 * 18;
        case kPackedFourBits: return depth / 256 * 148;
        case kPackedSixBits: return depth / 256 * 210;
        default: return depth * 2;
    }
}

struct MatMulTask {
    const float* a = nullptr;  // rows x depth, row-major
    int64_t a_row = 0;         // floats between rows
    PackedType type = kPackedF32;
    const void* b = nullptr;  // packed
    float* out = nullptr;
    int64_t out_row = 0, depth = 0, columns = 0;
    float* panel = nullptr;  // for types other than f32: MatMulKernels::panel_floats
    Epilogue epilogue;
};

struct MatMulKernels {
    int64_t rows;  // of a full tile: ranges should be multiples
    int64_t panel_floats;
    // The instruction set converts f16: otherwise such weights are better kept as f32.
    bool converts_f16;
    // Rows [row_begin, row_end) and columns [column_begin, column_end); column_begin is a multiple of ConvKernels::block, so is
    // column_end unless it is the last.
    void (*run)(const MatMulTask& task, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end);
};

}  // namespace backplane::cpu
