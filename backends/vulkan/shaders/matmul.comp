#include "common.h"
PARAMETERS(MatMul)
#if defined(Q8) || defined(Q4)
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#elif defined(HALF_WEIGHTS)
#extension GL_EXT_shader_16bit_storage : require
#endif
#include "tile.glsl"
#include "epilogue.glsl"
// y = a b, batched. Parameters: M, N, K, tiles down, batch rank, batch sizes[8], steps of a[8] and b[8] in matrices, then the epilogue.
layout(constant_id = 8) const uint TRANSPOSE_A = 0;
layout(constant_id = 9) const uint TRANSPOSE_B = 0;
READ(1, a, T);
WRITE(6, y, T);
#if defined(Q8) || defined(Q4)
READ(2, b_bytes, uint8_t);
READ(7, b_scales, float16_t);
// Element k of column n of a transposed operand in blocks of 32.
float weight(uint matrix, uint n, uint k) {
    uint i = matrix + n * P.depth + k;
    uint block = i >> 5;
#if defined(Q8)
    float scale = float(b_scales[base[6] + block * 17]);
    return scale * float(bitfieldExtract(int(b_bytes[base[1] + block * 34 + 2 + (i & 31u)]), 0, 8));
#else
    float scale = float(b_scales[base[6] + block * 9]);
    uint pair = uint(b_bytes[base[1] + block * 18 + 2 + (i & 15u)]);
    return scale * float(int((i & 31u) < 16u ? pair & 15u : pair >> 4) - 8);
#endif
}
#else
#if defined(HALF_WEIGHTS)
READ(2, b, float16_t);
#else
READ(2, b, T);
#endif
float weight(uint matrix, uint n, uint k) {
    return float(b[base[1] + matrix + (TRANSPOSE_B != 0 ? n * P.depth + k : k * P.columns + n)]);
}
#endif

void main() {
    uint rows = P.rows;
    uint columns = P.columns;
    uint depth = P.depth;
    uint tile = GROUP_INDEX;
    uint first_row = tile % P.blocks * BM;
    uint first_column = tile / P.blocks * BN;
    if (first_column >= columns) return;
    uint batch = gl_WorkGroupID.z;
    uint matrix_a = 0;
    uint matrix_b = 0;
    uint rest = batch;
    for (uint d = P.batch_rank; d-- > 0;) {
        uint k = rest % WORD(MATMUL_SIZES + d);
        rest /= WORD(MATMUL_SIZES + d);
        matrix_a += k * WORD(MATMUL_STEPS_A + d);
        matrix_b += k * WORD(MATMUL_STEPS_B + d);
    }
    matrix_a *= rows * depth;
    matrix_b *= columns * depth;
    uint t = gl_LocalInvocationID.x;
    clear_sums();
    for (uint first = 0; first < depth; first += BK) {
        for (uint i = t; i < BM * BK; i += LOCAL) {
            uint m = TRANSPOSE_A != 0 ? i % BM : i / BK;
            uint k = TRANSPOSE_A != 0 ? i / BM : i % BK;
            uint row = first_row + m;
            float v = 0.0;
            if (row < rows && first + k < depth)
                v = float(a[base[0] + matrix_a + (TRANSPOSE_A != 0 ? (first + k) * rows + row : row * depth + first + k)]);
            put_a(k, m, v);
        }
        for (uint i = t; i < BN * BK; i += LOCAL) {
            uint n = TRANSPOSE_B != 0 ? i / BK : i % BN;
            uint k = TRANSPOSE_B != 0 ? i % BK : i / BN;
            uint column = first_column + n;
            put_b(k, n, column < columns && first + k < depth ? weight(matrix_b, column, first + k) : 0.0);
        }
        barrier();
        multiply_tiles();
        barrier();
    }
    [[unroll]] for (uint i = 0; i < TM; ++i) {
        uint row = first_row + row_of(i);
        [[unroll]] for (uint j = 0; j < TN; ++j) {
            uint column = first_column + column_of(j);
            if (row >= rows || column >= columns) continue;
            uint place = (batch * rows + row) * columns + column;
            y[base[5] + place] = T(epilogue(MATMUL_EPILOGUE, sum_of(i, j), column, place));
        }
    }
}
