// Rows of a matrix product over a panel, part of the depth of a block of columns, which stays in the nearest cache meanwhile.
#pragma once

#include "kernels/matmul.h"
#include "kernels/tile.h"

namespace {

using backplane::cpu::MatMulTask;

// Depth of one pass over the rows: a panel of the right-hand side (128 x 64 floats, 32 KiB) stays in the nearest cache while all rows
// of a range go over it. A multiple of q8_0's 32.
constexpr int64_t kDepth = 128;
constexpr int64_t kLine = 64;  // bytes of a cache line
constexpr int64_t kLineFloats = kLine / sizeof(float);
constexpr int64_t parts(int64_t n, int64_t size) { return (n + size - 1) / size; }

// What is read soon, asked for between the products, a few lines at a time. By itself the processor is too late: it notices no reader before
// some lines of a page are read, stops at the end of a page, and the instructions that it holds are done in less time than the third-level
// cache takes to answer.
class Asking {
public:
    Asking() = default;
    // All of `rows` rows of `bytes`, `apart` bytes from one to the next, within `times` calls of some().
    Asking(const float* first, int64_t rows, int64_t bytes, int64_t apart, int64_t times)
        : row_(reinterpret_cast<const uint8_t*>(first)),
          apart_(apart),
          bytes_(bytes),
          rows_(rows),
          lines_(times > 0 ? parts(rows * (bytes / kLine), times) : 0) {}

    HWY_INLINE void some() {
        for (int64_t i = lines_; i > 0 && rows_ > 0; --i) {
            __builtin_prefetch(row_ + at_, 0, 2);
            at_ += kLine;
            if (at_ < bytes_) continue;
            at_ = 0;
            row_ += apart_;
            --rows_;
        }
    }

private:
    const uint8_t* row_ = nullptr;
    int64_t apart_ = 0, bytes_ = 0, at_ = 0, rows_ = 0;
    int64_t lines_ = 0;  // of one call
};

// As multiply(), of a right-hand side that is read where it is, `row` floats from depth to depth, and written to `packed`. Rows are asked for some
// depths ahead: by itself the processor follows fewer of them than there are.
template <int ROWS, int VECTORS>
HWY_INLINE void multiply_and_pack(Tile<ROWS, VECTORS>& tile, const float* const (&a)[ROWS], const float* plain, int64_t row,
                                  float* packed, int64_t depth) {
    constexpr int64_t kDepthsAhead = 8;
    for (int64_t k = 0; k < depth; ++k, plain += row, packed += VECTORS * kLanes) {
        VF column[VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) {
            __builtin_prefetch(plain + kDepthsAhead * row + j * kLanes);
            column[j] = hn::LoadU(f, plain + j * kLanes);
            hn::StoreU(column[j], f, packed + j * kLanes);
        }
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; ++i) {
            const VF x = hn::Set(f, a[i][k]);
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; ++j) tile.v[i][j] = hn::MulAdd(x, column[j], tile.v[i][j]);
        }
    }
}

// Part of the depth of a block of columns, packed at `b`, for these rows.
struct Panel {
    int64_t row_begin, row_end, column, k_begin, k_end;
    const float* b;
};

// Rows from r on. PACKS: the panel is not packed yet (MatMulTask::plain).
template <int ROWS, int VECTORS, bool PACKS>
HWY_NOINLINE void panel_tile(const MatMulTask& t, const Panel& p, int64_t r, float* sums, Asking& asking) {
    const int64_t columns = HWY_MIN(kBlock, t.columns - p.column);
    const int64_t depth = p.k_end - p.k_begin;
    const bool last = p.k_end == t.depth;
    const int64_t valid = HWY_MIN(static_cast<int64_t>(ROWS), p.row_end - r);
    const float* a[ROWS];
    int64_t rows[ROWS];
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i) {
        rows[i] = r + HWY_MIN(static_cast<int64_t>(i), valid - 1);
        a[i] = t.a + rows[i] * t.a_row + p.k_begin;
    }
    Tile<ROWS, VECTORS> tile;
    clear(tile);
    if (p.k_begin != 0)
        each(tile, [&](VF, int i, int j) HWY_ATTR { return hn::LoadU(f, sums + (i * VECTORS + j) * kLanes); });
    if constexpr (PACKS) {
        const float* plain = t.plain + p.k_begin * t.plain_row + p.column;
        multiply_and_pack(tile, a, plain, t.plain_row, t.panel + (p.b - static_cast<const float*>(t.b)), depth);
    } else {
        // The rows of the next tile; of the last, those that the next part begins with.
        const bool more = r + 2 * ROWS <= p.row_end;
        const float* next = more ? a[0] + ROWS * t.a_row : t.a + p.row_begin * t.a_row + (last ? p.k_begin : p.k_end);
        const bool asks = more || (!last && p.row_end - p.row_begin >= ROWS);
        for (int64_t k = 0; k < depth; k += kLineFloats) {
            if (asks) {
#pragma GCC unroll 16
                for (int i = 0; i < ROWS; ++i) __builtin_prefetch(next + i * t.a_row + k);
            }
            asking.some();
            multiply<ROWS, VECTORS>(tile, a, p.b + k * VECTORS * kLanes, HWY_MIN(kLineFloats, depth - k));
#pragma GCC unroll 16
            for (int i = 0; i < ROWS; ++i) a[i] += kLineFloats;
        }
    }
    if (!last) {
        each(tile, [&](VF x, int i, int j) HWY_ATTR {
            hn::StoreU(x, f, sums + (i * VECTORS + j) * kLanes);
            return x;
        });
        return;
    }
    finish_copy(tile, t.epilogue, rows, p.column, columns);
    store_rows(tile, valid, columns, t.out + r * t.out_row + p.column, t.out_row);
}

template <int ROWS, int VECTORS>
void panel(const MatMulTask& t, const Panel& p, Asking asking) {
    constexpr int FEWER = ROWS * 2 / 3;  // of a last tile: no more sums than are wanted
    float* sums = t.sums;
    const int64_t of_tile = sums == nullptr ? 0 : ROWS * VECTORS * kLanes;  // one part of the depth needs none
    int64_t r = p.row_begin;
    if (t.plain != nullptr) {
        panel_tile<ROWS, VECTORS, true>(t, p, r, sums, asking);
        r += ROWS;
        sums += of_tile;
    }
    for (; r + FEWER < p.row_end; r += ROWS, sums += of_tile) panel_tile<ROWS, VECTORS, false>(t, p, r, sums, asking);
    if (r < p.row_end) panel_tile<FEWER, VECTORS, false>(t, p, r, sums, asking);
}

void panel_of(int64_t vectors, const MatMulTask& t, const Panel& p, Asking asking) {
    switch (vectors) {
        case 1: return panel<rows_of(1), 1>(t, p, asking);
        case 2: return panel<rows_of(2), 2>(t, p, asking);
#if HWY_TARGET != HWY_SSE4 && HWY_TARGET != HWY_SSSE3 && HWY_TARGET != HWY_AVX2
        case 3: return panel<rows_of(3), 3>(t, p, asking);
        default: return panel<rows_of(4), 4>(t, p, asking);
#endif
    }
}

// What is read behind part [k, end) of a block of columns, packed at `b`: the next part, or the next block.
template <int VECTORS>
HWY_INLINE Asking next_of(const MatMulTask& t, int64_t column, const float* b, int64_t k, int64_t end, int64_t times) {
    constexpr int64_t kWidth = VECTORS * kLanes, kBytes = HWY_MAX(kWidth * int64_t{sizeof(float)}, kLine);
    if (!t.followed && end == t.depth) return {};
    if (t.plain != nullptr) {
        const int64_t from = end < t.depth ? end : 0;
        const float* next = t.plain + from * t.plain_row + column + (from == 0 ? kWidth : 0);
        return {next, HWY_MIN(kDepth, t.depth - from), kBytes, t.plain_row * int64_t{sizeof(float)}, times};
    }
    return {b + (end - k) * kWidth, 1, (end - k) * kWidth * int64_t{sizeof(float)}, 0, times};
}

}  // namespace
