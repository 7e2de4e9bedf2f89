// clang-format off
#include "common.h"
#include "product.h"
#include "epilogue.h"
// As common/gpu/kernels/matmul.kernel, but operands are loaded four elements at a time and a slice ahead, into registers: nvcc leaves a load
// that only some invocations do, and the store to shared memory behind it, where they stand, so that each load waited for the one before.
CONSTANT(3, BM, 32)
CONSTANT(4, BN, 32)
CONSTANT(5, TM, 4)
CONSTANT(6, TN, 4)
CONSTANT(7, BK, 16)
CONSTANT(8, TRANSPOSE_A, 0)
#if defined(BLOCKS)  // they run along the depth
CONSTANT(9, TYPE, 0)
#include "blocks.h"
#include "planes.h"
#define B_TURNED true
#else
CONSTANT(9, TRANSPOSE_B, 0)
#define B_TURNED (TRANSPOSE_B != 0u)
#endif
#define ACROSS (BN / TN)  // invocations
#define ROW_A (BM / 4 + 1)  // fours
#define ROW_B (BN / 4 + 1)
#define FOURS_A (BM * BK / 4)
#define FOURS_B (BN * BK / 4)
// Rows and columns of an invocation come in fours.
#define ROW_OF(i) (LOCAL_INDEX / ACROSS * 4u + (i) / 4u * (BM / TM * 4) + (i) % 4u)
#define COLUMN_OF(j) (LOCAL_INDEX % ACROSS * 4u + (j) / 4u * (ACROSS * 4))
// With more registers than this leaves fewer workgroups would hide each other's waits.
#undef ENTRY
#define ENTRY(name) extern "C" __global__ void __launch_bounds__(LOCAL, TM < 8u ? 1 : LOCAL == 256u ? 2 : 3) ENTRY_NAMED(INSTANCE)
FUNCTION float element(const float *p, U64 i) { return p[i]; }
FUNCTION float element(const F16 *p, U64 i) { return load_half(p, i); }
FUNCTION float4 four_elements(const float *p, U64 i) { return *(const float4 *)(p + i); }
FUNCTION float4 four_elements(const F16 *p, U64 i) { return four_halves(*(const uint2 *)(p + i)); }
// The first `count` of four elements from i on; `whole`: they are four or none, and lie so that the device can take them at once.
template <typename Element> FUNCTION float4 first_of_four(const Element *p, U64 i, int count, bool whole) {
    float4 v = ALL_4(0.0f);
    if (whole) {
        if (count > 0) v = four_elements(p, i);
        return v;
    }
    if (count > 0) v.x = element(p, i);
    if (count > 1) v.y = element(p, i + 1);
    if (count > 2) v.z = element(p, i + 2);
    if (count > 3) v.w = element(p, i + 3);
    return v;
}
// A four of a slice goes to its place: it lies along the depth (`deep`), or across it.
FUNCTION void put_four(float4 *tile, uint row, uint i, bool deep, uint across, float4 v) {
    if (!deep) {
        tile[i / (across / 4u) * row + i % (across / 4u)] = v;
        return;
    }
    float *to = (float *)tile + i % (BK / 4u) * 4u * (row * 4u) + i / (BK / 4u);
    to[0] = v.x;
    to[row * 4u] = v.y;
    to[row * 8u] = v.z;
    to[row * 12u] = v.w;
}
// That four of an operand of `width` rows or columns; `first`: of the slice, `first_across`: of the tile.
template <typename Element>
FUNCTION float4 ask_four(const Element *p, U64 matrix, uint i, bool deep, uint across, uint first_across, uint width, uint first, uint depth, bool whole) {
    uint line = deep ? i / (BK / 4u) : i / (across / 4u);
    uint along = deep ? i % (BK / 4u) * 4u : i % (across / 4u) * 4u;
    uint k = first + (deep ? along : line), n = first_across + (deep ? line : along);
    bool there = k < depth && n < width;
    int count = deep ? (int)depth - (int)k : (int)width - (int)n;
    return first_of_four(p, matrix + (deep ? (U64)n * depth + k : (U64)k * width + n), there ? count : 0, whole);
}
PRODUCT(matmul)
#if defined(BLOCKS)
TABLE
#endif
SHARED(float4, tile_a, BK * ROW_A)
SHARED(float4, tile_b, BK * ROW_B)
BEGIN
    uint rows = P.rows;
    uint columns = P.columns;
    uint depth = P.depth;
    TILE_OF_PRODUCT(first_row, first_column)
    MATRICES(matrix_a, matrix_b)
    bool whole_a = ((TRANSPOSE_A != 0u ? rows : depth) & 3u) == 0u && ((U64)a & (4u * sizeof(T) - 1u)) == 0u;
#if defined(BLOCKS)
    FILL_TABLE
    uint spans_of_column = (depth + SPAN - 1u) / SPAN;
#else
    bool whole_b = ((B_TURNED ? depth : columns) & 3u) == 0u && ((U64)b & (4u * sizeof(U) - 1u)) == 0u;
#endif
    float4 next_a[(FOURS_A + LOCAL - 1u) / LOCAL];
    float4 next_b[(FOURS_B + LOCAL - 1u) / LOCAL];
#define EACH_NEXT(n, BODY) UNROLL for (uint round = 0u; round * LOCAL < (n); ++round) { uint i = round * LOCAL + LOCAL_INDEX; if ((n) % LOCAL == 0u || i < (n)) { BODY } }
    auto ask = [&](uint first) {
        if (TRANSPOSE_A == 0u) { EACH_NEXT(FOURS_A, next_a[round] = ask_four(a, matrix_a, i, true, BM, first_row, rows, first, depth, whole_a);) }
        else { EACH_NEXT(FOURS_A, next_a[round] = ask_four(a, matrix_a, i, false, BM, first_row, rows, first, depth, whole_a);) }
#if defined(BLOCKS)
        EACH_NEXT(FOURS_B,
            uint n = i / (BK / 4u);
            uint place = first + i % (BK / 4u) * 4u;
            uint column = matrix_b / max(depth, 1u) + first_column + n;
            float4 v = ALL_4(0.0f);
            if (first_column + n < columns && place < depth) TAKE_WEIGHTS(v, column * spans_of_column, place)
            next_b[round] = v;)
#else
        if (B_TURNED) { EACH_NEXT(FOURS_B, next_b[round] = ask_four(b, matrix_b, i, true, BN, first_column, columns, first, depth, whole_b);) }
        else { EACH_NEXT(FOURS_B, next_b[round] = ask_four(b, matrix_b, i, false, BN, first_column, columns, first, depth, whole_b);) }
#endif
    };
    float4 sums[TM * TN / 4];
    UNROLL for (uint i = 0u; i < TM * TN / 4; ++i) sums[i] = ALL_4(0.0f);
    ask(0u);
    for (uint first = 0u; first < depth; first += BK) {
        EACH_NEXT(FOURS_A, put_four(tile_a, ROW_A, i, TRANSPOSE_A == 0u, BM, next_a[round]);)
        EACH_NEXT(FOURS_B, put_four(tile_b, ROW_B, i, B_TURNED, BN, next_b[round]);)
        BARRIER;
        if (first + BK < depth) ask(first + BK);
        UNROLL for (uint k = 0u; k < BK; ++k) {
            float4 left[TM / 4];
            float4 right[TN / 4];
            UNROLL for (uint i = 0u; i < TM / 4; ++i) left[i] = tile_a[k * ROW_A + LOCAL_INDEX / ACROSS + i * (BM / TM)];
            UNROLL for (uint j = 0u; j < TN / 4; ++j) right[j] = tile_b[k * ROW_B + LOCAL_INDEX % ACROSS + j * ACROSS];
            UNROLL for (uint i = 0u; i < TM; ++i)
                UNROLL for (uint j = 0u; j < TN / 4; ++j) sums[i * (TN / 4) + j] += PART(left[i / 4u], i % 4u) * right[j];
        }
        BARRIER;
    }
    UNROLL for (uint i = 0u; i < TM; ++i) {
        uint row = first_row + ROW_OF(i);
        UNROLL for (uint j = 0u; j < TN; j += 4u) {
            uint column = first_column + COLUMN_OF(j);
            if (row < rows && column < columns) {
                uint place = (BATCH_INDEX * rows + row) * columns + column;
                float4 v = sums[i * (TN / 4) + j / 4u];
                if (EPILOGUE_KINDS != 0u) {
                    FINISH(MATMUL_EPILOGUE, v.x, column, place)
                    if (column + 1u < columns) { FINISH(MATMUL_EPILOGUE, v.y, column + 1u, place + 1u) }
                    if (column + 2u < columns) { FINISH(MATMUL_EPILOGUE, v.z, column + 2u, place + 2u) }
                    if (column + 3u < columns) { FINISH(MATMUL_EPILOGUE, v.w, column + 3u, place + 3u) }
                }
                STORE_4(y, place, v, (int)columns - (int)column);
            }
        }
    }
END
