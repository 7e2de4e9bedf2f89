#include "kernels/planar.h"

#include "kernels/pixels.h"
#include "kernels/plane_3x3.h"
#include "kernels/tile.h"

namespace {

using backplane::cpu::ConvTask;
using backplane::cpu::PlaneTask;

void pack(const float* from, int64_t plane, int64_t first, int64_t depth, int64_t planes, int64_t columns, float* into) {
    for (int64_t column = 0; column < columns; column += kBlock) {
        const int64_t valid = HWY_MIN(kBlock, columns - column);
        const int64_t width = (valid + kLanes - 1) / kLanes * kLanes;
        float* to = into + column * planes + first * width;
        for (int64_t d = 0; d < depth; ++d, to += width) {
            const float* row = from + d * plane + column;
            for (int64_t i = 0; i < width; i += kLanes) hn::StoreU(load_first(row + i, valid - i), f, to + i);
        }
    }
}

// Rows of the input with zeros where there is nothing, so that no product asks where it is.
void fill_rows(const ConvTask& t, const PlaneTask& p, int64_t pitch, float* into) {
    const int64_t first = p.row_begin * t.stride_h - t.pad_top;
    const int64_t end = (p.row_end - 1) * t.stride_h - t.pad_top + (t.kernel_h - 1) * t.dilation_h + 1;
    const int64_t x = p.column_begin - t.pad_left;
    const int64_t length = pitch - backplane::cpu::plane_lead(t);
    const int64_t before = HWY_MIN(length, x < 0 ? -x : 0);
    const int64_t there = HWY_MAX(0, HWY_MIN(length, t.width - x) - before);
    into += backplane::cpu::plane_lead(t);
    for (int64_t y = first; y < end; ++y, into += pitch) {
        const int64_t n = y >= 0 && y < t.height ? there : 0;
        const int64_t begin = n > 0 ? before : 0;
        for (int64_t i = 0; i < begin; i += kLanes) store_first(hn::Zero(f), into + i, length - i);
        const float* from = t.segment[0].data + y * t.width + x;
        for (int64_t i = begin; i < begin + n; i += kLanes)
            store_first(load_first(from + i, begin + n - i), into + i, begin + n - i);
        for (int64_t i = begin + n; i < length; i += kLanes) store_first(hn::Zero(f), into + i, length - i);
    }
}

template <int ROWS, int VECTORS>
HWY_INLINE void store_plane(Tile<ROWS, VECTORS>& tile, const ConvTask& t, const int64_t (&rows)[ROWS], int64_t valid,
                            int64_t column, int64_t columns) {
    finish_copy(tile, t.epilogue, rows, column, columns);
    store_rows(tile, valid, columns, t.out + rows[0] * t.out_row + column, t.out_row);
}

template <int ROWS, int VECTORS>
HWY_INLINE void plane_tile(const ConvTask& t, const PlaneTask& p, int64_t pitch, int64_t row, int64_t column,
                           const float* filled) {
    const int64_t valid = HWY_MIN(static_cast<int64_t>(ROWS), p.row_end - row);
    const float* from[ROWS];
    int64_t rows[ROWS];
    for (int i = 0; i < ROWS; ++i) {
        rows[i] = row + HWY_MIN(static_cast<int64_t>(i), valid - 1);
        from[i] = filled + (rows[i] - p.row_begin) * t.stride_h * pitch + column - p.column_begin;
    }
    Tile<ROWS, VECTORS> tile;
    clear(tile);
    const float* weight = t.weights;
    for (int64_t ky = 0; ky < t.kernel_h; ++ky)
        for (int64_t kx = 0; kx < t.kernel_w; ++kx, ++weight) {
            const VF w = hn::Set(f, *weight);
            const int64_t at = ky * t.dilation_h * pitch + kx * t.dilation_w;
#pragma GCC unroll 4
            for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 4
                for (int j = 0; j < VECTORS; ++j)
                    tile.v[i][j] = hn::MulAdd(hn::LoadU(f, from[i] + at + j * kLanes), w, tile.v[i][j]);
        }
    store_plane(tile, t, rows, valid, column, p.column_end - column);
}

// Filters of TALL rows, next to each other: a vector of the input is read once for all rows of the result that it is part of. The rows behind
// these are asked for: stores by themselves wait for too few lines at a time.
template <int TALL, int ROWS, int VECTORS>
HWY_INLINE void tall_tile(const ConvTask& t, const PlaneTask& p, int64_t pitch, int64_t row, int64_t column,
                          const float* filled) {
    const float* from = filled + (row - p.row_begin) * pitch + column - p.column_begin;
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < VECTORS; ++j) __builtin_prefetch(t.out + (row + ROWS + i) * t.out_row + column + j * kLanes, 1);
    Tile<ROWS, VECTORS> tile;
    clear(tile);
    for (int64_t kx = 0; kx < t.kernel_w; ++kx, from += t.dilation_w) {
        VF weight[TALL];
        for (int ky = 0; ky < TALL; ++ky) weight[ky] = hn::Set(f, t.weights[ky * t.kernel_w + kx]);
#pragma GCC unroll 16
        for (int y = 0; y < ROWS + TALL - 1; ++y)
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; ++j) {
                const VF x = hn::LoadU(f, from + y * pitch + j * kLanes);
#pragma GCC unroll 4
                for (int ky = 0; ky < TALL; ++ky)
                    if (y >= ky && y < ky + ROWS) tile.v[y - ky][j] = hn::MulAdd(x, weight[ky], tile.v[y - ky][j]);
            }
    }
    int64_t rows[ROWS];
    for (int i = 0; i < ROWS; ++i) rows[i] = row + i;
    store_plane(tile, t, rows, ROWS, column, p.column_end - column);
}

template <int TALL, int ROWS>
HWY_INLINE void tall_rows(const ConvTask& t, const PlaneTask& p, int64_t pitch, int64_t row, const float* filled) {
    for (int64_t column = p.column_begin; column < p.column_end;) {
        const int64_t left = p.column_end - column;
        if (left > (kVectors - 1) * kLanes) {
            tall_tile<TALL, ROWS, kVectors>(t, p, pitch, row, column, filled);
            column += kBlock;
        } else if (kVectors > 2 && left > kLanes) {  // planes of few columns
            tall_tile<TALL, ROWS, HWY_MIN(kVectors, 2)>(t, p, pitch, row, column, filled);
            column += 2 * kLanes;
        } else {
            tall_tile<TALL, ROWS, 1>(t, p, pitch, row, column, filled);
            column += kLanes;
        }
    }
}

// Eight sums hide the latency of the additions.
template <int ROWS>
HWY_INLINE void plane_rows(const ConvTask& t, const PlaneTask& p, int64_t pitch, int64_t row, const float* filled) {
    for (int64_t column = p.column_begin; column < p.column_end;) {
        const bool wide = p.column_end - column > (kVectors - 1) * kLanes;
        if (wide)
            plane_tile<ROWS, kVectors>(t, p, pitch, row, column, filled);
        else
            plane_tile<ROWS, 1>(t, p, pitch, row, column, filled);
        column += wide ? kBlock : kLanes;
    }
}

#if HWY_TARGET == HWY_AVX3
// Sums of ROWS rows, to rows of `out_row` floats; what lies behind those is asked for.
template <int ROWS>
HWY_NOINLINE void near_rows(const ConvTask& t, const PlaneTask& p, int64_t row, const float* zeros, float* out,
                            int64_t out_row) {
    NearRows<ROWS> given(t, row, p.column_begin - t.pad_left + 1, zeros);
    Tile<ROWS, 1> tile;
    const int64_t columns = p.column_end - p.column_begin;
    const auto ask = [&](int64_t column) HWY_ATTR {
        for (int i = 0; i < ROWS; ++i) __builtin_prefetch(out + (ROWS + i) * out_row + column, 1);
    };
    for (int64_t column = 0; column < columns; column += kLanes) {
        for (; given.whole() && column + kLanes <= columns; column += kLanes) {
            given.template sum<true>(tile);
            ask(column);
            for (int i = 0; i < ROWS; ++i) hn::StoreU(tile.v[i][0], f, out + i * out_row + column);
        }
        if (column >= columns) break;
        given.template sum<false>(tile);
        ask(column);
        for (int i = 0; i < ROWS; ++i) store_first(tile.v[i][0], out + i * out_row + column, columns - column);
    }
}

// What follows, of sums that are in `from`: of many at a time.
template <int ROWS, int VECTORS>
HWY_NOINLINE void finish_rows(const ConvTask& t, const PlaneTask& p, int64_t row, int64_t& column, const float* from,
                              int64_t pitch) {
    int64_t rows[ROWS];
    for (int i = 0; i < ROWS; ++i) rows[i] = row + i;
    for (; p.column_end - column > (VECTORS - 1) * kLanes; column += VECTORS * kLanes) {
        const float* at = from + column - p.column_begin;
        Tile<ROWS, VECTORS> tile;
        each(tile, [&](VF, int i, int j) HWY_ATTR { return hn::LoadU(f, at + i * pitch + j * kLanes); });
        store_plane(tile, t, rows, ROWS, column, p.column_end - column);
    }
}

template <int ROWS>
void near_tile(const ConvTask& t, const PlaneTask& p, int64_t row, float* zeros) {
    if (t.epilogue.count == 0) return near_rows<ROWS>(t, p, row, zeros, t.out + row * t.out_row + p.column_begin, t.out_row);
    const int64_t columns = p.column_end - p.column_begin;
    const int64_t pitch = (columns + kLanes - 1) / kLanes * kLanes;
    float* sums = zeros + near_zeros(columns);
    near_rows<ROWS>(t, p, row, zeros, sums, pitch);
    int64_t column = p.column_begin;
    finish_rows<ROWS, kVectors>(t, p, row, column, sums, pitch);
    finish_rows<ROWS, 1>(t, p, row, column, sums, pitch);
}

void near_planes(const ConvTask& t, const PlaneTask& p, float* zeros) {
    constexpr int kTogether = 4;
    for (int64_t i = 0; i < near_zeros(p.column_end - p.column_begin); i += kLanes) hn::StoreU(hn::Zero(f), f, zeros + i);
    int64_t row = p.row_begin;
    for (; row + kTogether <= p.row_end; row += kTogether) near_tile<kTogether>(t, p, row, zeros);
    for (; row < p.row_end; ++row) near_tile<1>(t, p, row, zeros);
}
#endif

void depthwise(const ConvTask& t, const PlaneTask& p, float* scratch) {
#if HWY_TARGET == HWY_AVX3
    if (t.kernel_h == 3 && t.kernel_w == 3 && t.stride_h == 1 && t.dilation_h == 1 && t.dilation_w == 1)
        return near_planes(t, p, scratch);
#endif
    constexpr int kTileRows = 8 / kVectors;
    constexpr int kTallRows = 4;
    // Tiles reach as far as whole vectors do.
    const int64_t pitch = backplane::cpu::plane_row(t, p.column_end - p.column_begin, kLanes);
    fill_rows(t, p, pitch, scratch);
    scratch += backplane::cpu::plane_lead(t);
    int64_t row = p.row_begin;
    if (t.kernel_h == 3 && t.stride_h == 1 && t.dilation_h == 1)
        for (; row + kTallRows <= p.row_end; row += kTallRows) tall_rows<3, kTallRows>(t, p, pitch, row, scratch);
    for (; row + kTileRows <= p.row_end; row += kTileRows) plane_rows<kTileRows>(t, p, pitch, row, scratch);
    for (; row < p.row_end; ++row) plane_rows<1>(t, p, pitch, row, scratch);
}

}  // namespace

BP_CPU_ENTRY(planar, PlanarKernels) {
    table->pack = pack;
    table->pixels = pixels;
    table->depthwise = depthwise;
}
