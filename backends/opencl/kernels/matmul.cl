#include "common.cl"
#define P PARAMETERS_OF(MatMul)
#include "functions.h"
#include "tile.cl"
#include "epilogue.cl"
// y = a b, batched. Parameters: M, N, K, tiles down, batch rank, batch sizes[8], steps of a[8] and b[8] in matrices, then the epilogue.
#define TRANSPOSE_A C8
#define TRANSPOSE_B C9

#if defined(Q8) || defined(Q4)
#define B_ARGUMENT READ(b, uchar)
#define SCALES_ARGUMENT , READ(scales, half)
#define SCALES_AT , AT(scales)
#define WEIGHT(matrix, n, k) weight(words, b, scales, matrix, n, k)
// Element k of column n of a transposed operand in blocks of 32.
float weight(constant uint *words, global const uchar *b, global const half *scales, uint matrix, uint n, uint k) {
    uint i = matrix + n * P.depth + k;
    uint block = i >> 5;
#if defined(Q8)
    float scale = vload_half(block * 17, scales);
    return scale * (float)(char)b[block * 34 + 2 + (i & 31u)];
#else
    float scale = vload_half(block * 9, scales);
    uint pair = b[block * 18 + 2 + (i & 15u)];
    return scale * (float)((int)((i & 31u) < 16u ? pair & 15u : pair >> 4) - 8);
#endif
}
#else
#define B_ARGUMENT READ(b, U)
#define SCALES_ARGUMENT
#define SCALES_AT
#define WEIGHT(matrix, n, k) LOAD_U(b, (matrix) + (TRANSPOSE_B != 0 ? (n) * P.depth + (k) : (k) * P.columns + (n)))
#endif

ENTRY bp_matmul(PARAMETERS, READ(a, T), B_ARGUMENT, EPILOGUE_ARGUMENTS, WRITE(y, T) SCALES_ARGUMENT) {
    local float4 tile_a[BK * ROW_A];
    local float4 tile_b[BK * ROW_B];
    WORDS_HERE;
    AT(a), AT(b), EPILOGUE_AT, AT(y) SCALES_AT;
    uint rows = P.rows;
    uint columns = P.columns;
    uint depth = P.depth;
    uint tile = GROUP_INDEX;
    uint first_row = tile % P.blocks * BM;
    uint first_column = tile / P.blocks * BN;
    if (first_column >= columns) return;
    uint batch = get_group_id(2);
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
    float4 sums[TM * TN / 4];
    UNROLL for (uint i = 0; i < TM * TN / 4; ++i) sums[i] = (float4)(0.0f);
    for (uint first = 0; first < depth; first += BK) {
        UNROLL FOR_EACH_OF(i, BM * BK) {
            uint m = TRANSPOSE_A != 0 ? i % BM : i / BK;
            uint k = TRANSPOSE_A != 0 ? i / BM : i % BK;
            uint row = first_row + m;
            float v = 0.0f;
            if (row < rows && first + k < depth)
                v = LOAD(a, matrix_a + (TRANSPOSE_A != 0 ? (first + k) * rows + row : row * depth + first + k));
            TILE_A(tile_a, k, m) = v;
        }
        UNROLL FOR_EACH_OF(i, BN * BK) {
            uint n = TRANSPOSE_B != 0 ? i / BK : i % BN;
            uint k = TRANSPOSE_B != 0 ? i % BK : i / BN;
            uint column = first_column + n;
            float v = 0.0f;
            if (column < columns && first + k < depth) v = WEIGHT(matrix_b, column, first + k);
            TILE_B(tile_b, k, n) = v;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        multiply_tiles(tile_a, tile_b, sums);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    UNROLL for (uint i = 0; i < TM; ++i) {
        uint row = first_row + row_of(i);
        UNROLL for (uint j = 0; j < TN; ++j) {
            uint column = first_column + column_of(j);
            uint place = (batch * rows + row) * columns + column;
            if (row < rows && column < columns) STORE(y, place, EPILOGUE(MATMUL_EPILOGUE, SUM_OF(sums, i, j), column, place));
        }
    }
}
