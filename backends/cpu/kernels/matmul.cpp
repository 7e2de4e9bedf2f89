#include "kernels/matmul.h"

#include "kernels/tile.h"

namespace {

using backplane::cpu::MatMulTask;

// Depth of one pass over the rows: a panel of the right-hand side (384 x 64 floats, 98 KB) stays in the second-level cache while
// all rows of a range go over it.
constexpr int64_t kDepth = 384;

template <int ROWS, int VECTORS>
HWY_NOINLINE void panel(const MatMulTask& t, int64_t row_begin, int64_t row_end, int64_t column, const float* b,
                        int64_t k_begin, int64_t k_end) {
    const int64_t columns = HWY_MIN(kBlock, t.columns - column);
    for (int64_t r = row_begin; r < row_end; r += ROWS) {
        const int64_t valid = HWY_MIN(static_cast<int64_t>(ROWS), row_end - r);
        const float* a[ROWS];
        int64_t rows[ROWS];
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; ++i) {
            rows[i] = r + HWY_MIN(static_cast<int64_t>(i), valid - 1);
            a[i] = t.a + rows[i] * t.a_row + k_begin;
        }
        Tile<ROWS, VECTORS> tile;
        clear(tile);
        if (k_begin != 0)
            each(tile, [&](VF, int i, int j) HWY_ATTR {
                return load_first(t.out + rows[i] * t.out_row + column + j * kLanes, columns - j * kLanes);
            });
        multiply<ROWS, VECTORS>(tile, a, b, k_end - k_begin);
        if (k_end == t.depth) finish(tile, t.epilogue, rows, column, columns);
        for (int i = 0; i < valid; ++i)
            for (int j = 0; j < VECTORS; ++j)
                store_first(tile.v[i][j], t.out + rows[i] * t.out_row + column + j * kLanes, columns - j * kLanes);
    }
}

template <int VECTORS>
HWY_INLINE void block(const MatMulTask& t, int64_t row_begin, int64_t row_end, int64_t column, const float* b) {
    for (int64_t k = 0; k == 0 || k < t.depth; k += kDepth) {
        const int64_t end = HWY_MIN(k + kDepth, t.depth);
        const float* at = b + k * VECTORS * kLanes;
        // A few rows (a vector in particular) would waste most of a full tile; one row is bound by memory anyhow.
        if (row_end - row_begin == 1) {
            panel<1, VECTORS>(t, row_begin, row_end, column, at, k, end);
        } else {
            panel<rows_of(VECTORS), VECTORS>(t, row_begin, row_end, column, at, k, end);
        }
    }
}

void run(const MatMulTask& t, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end) {
    for (int64_t column = column_begin; column < column_end; column += kBlock) {
        const float* b = t.b + column * t.depth;
        switch ((HWY_MIN(kBlock, t.columns - column) + kLanes - 1) / kLanes) {
            case 1: block<1>(t, row_begin, row_end, column, b); break;
            case 2: block<2>(t, row_begin, row_end, column, b); break;
#if HWY_TARGET != HWY_SSE4 && HWY_TARGET != HWY_SSSE3 && HWY_TARGET != HWY_AVX2
            case 3: block<3>(t, row_begin, row_end, column, b); break;
            default: block<4>(t, row_begin, row_end, column, b); break;
#endif
        }
    }
}

}  // namespace

BP_CPU_ENTRY(matmul, MatMulKernels) {
    table->rows = rows_of(kVectors);
    table->run = run;
}
