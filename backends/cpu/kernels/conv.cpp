#include "kernels/conv.h"

#include "kernels/tile.h"

namespace {

using backplane::cpu::ConvSegment;
using backplane::cpu::ConvTask;

// Where an output pixel's window begins in the input.
struct Window {
    int64_t y, x;  // may lie outside
    int64_t at;    // pixel index of (y, x)
    int64_t into;  // that of the output pixel
};

HWY_INLINE Window window_of(const ConvTask& t, int64_t pixel) {
    const int64_t x = pixel % t.out_width;
    const int64_t rest = pixel / t.out_width;
    const int64_t y = rest % t.out_height;
    const int64_t n = rest / t.out_height;
    Window w;
    w.y = y * t.stride_h - t.pad_top;
    w.x = x * t.stride_w - t.pad_left;
    w.at = (n * t.height + w.y) * t.width + w.x;
    w.into = rest * t.out_row + x * t.out_column;
    return w;
}

HWY_INLINE bool inside(int64_t i, int64_t size) { return static_cast<uint64_t>(i) < static_cast<uint64_t>(size); }

// Rows are read one float at a time, six at once: too many slow streams for the hardware to run ahead of. Two tiles ahead is some
// 1500 cycles at 64 channels, more than memory takes.
template <int ROWS>
HWY_INLINE void prefetch_rows(const ConvSegment& segment, int64_t at) {
    constexpr int64_t kLine = 16;
    const float* row = segment.data + at * segment.stride;
    for (int i = 0; i < ROWS; ++i, row += segment.stride)
        for (int64_t c = 0; c < segment.channels; c += kLine) __builtin_prefetch(row + c);
}

// Adds one segment's products to a tile of the result. `valid` of the tile's rows are stored; the others repeat the last.
template <int VECTORS>
HWY_INLINE void direct_tile(const ConvTask& t, int64_t s, int64_t pixel, int64_t valid, int64_t column, int64_t columns,
                            const float* weights) {
    constexpr int ROWS = rows_of(VECTORS);
    Window window[ROWS];
    int64_t rows[ROWS];
    for (int i = 0; i < ROWS; ++i) {
        window[i] = window_of(t, pixel + (i < valid ? i : valid - 1));
        rows[i] = window[i].into;
    }
    Tile<ROWS, VECTORS> tile;
    clear(tile);
    if (s != 0)
        each(tile, [&](VF, int i, int j) HWY_ATTR {
            return load_first(t.out + rows[i] * t.out_stride + column + j * kLanes, columns - j * kLanes);
        });
    const ConvSegment& segment = t.segment[s];
    if (t.kernel_h * t.kernel_w == 1 && pixel + 3 * ROWS <= t.out_height * t.out_width)
        prefetch_rows<ROWS>(segment, window[0].at + 2 * ROWS);
    for (int64_t ky = 0; ky < t.kernel_h; ++ky)
        for (int64_t kx = 0; kx < t.kernel_w; ++kx) {
            const int64_t dy = ky * t.dilation_h;
            const int64_t dx = kx * t.dilation_w;
            const float* a[ROWS];
#pragma GCC unroll 16
            for (int i = 0; i < ROWS; ++i) {
                const bool in = inside(window[i].y + dy, t.height) && inside(window[i].x + dx, t.width);
                a[i] = in ? segment.data + (window[i].at + dy * t.width + dx) * segment.stride : t.zeros;
            }
            multiply<ROWS, VECTORS>(tile, a, weights, segment.channels);
            weights += segment.channels * VECTORS * kLanes;
        }
    if (s == t.segments - 1) finish_copy(tile, t.epilogue, rows, column, columns);
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i) {
        if (i >= valid) return;
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j)
            if (j * kLanes < columns)
                store_first(tile.v[i][j], t.out + rows[i] * t.out_stride + column + j * kLanes, columns - j * kLanes);
    }
}

template <int VECTORS>
HWY_NOINLINE void direct_block(const ConvTask& t, int64_t begin, int64_t end, int64_t column, const float* weights) {
    constexpr int ROWS = rows_of(VECTORS);
    const int64_t columns = HWY_MIN(kBlock, t.out_channels - column);
    // Segments outermost: the weights of one (16 KB for 64 channels, 1x1) stay in the first-level cache while the range's pixels
    // pass, and the partial sums in the second. With all segments in one pass, 640 channels stream 164 KB for every six pixels.
    for (int64_t s = 0; s < t.segments; ++s) {
        for (int64_t pixel = begin; pixel < end; pixel += ROWS)
            direct_tile<VECTORS>(t, s, pixel, HWY_MIN(static_cast<int64_t>(ROWS), end - pixel), column, columns, weights);
        weights += t.kernel_h * t.kernel_w * t.segment[s].channels * VECTORS * kLanes;
    }
}

void direct(const ConvTask& t, int64_t begin, int64_t end, int64_t column_begin, int64_t column_end) {
    const int64_t depth = t.kernel_h * t.kernel_w * t.channels;
    const float* weights = t.weights + column_begin * depth;
    for (int64_t column = column_begin; column < column_end; column += kBlock) {
        const int64_t vectors = (HWY_MIN(kBlock, t.out_channels - column) + kLanes - 1) / kLanes;
        switch (vectors) {
            case 1: direct_block<1>(t, begin, end, column, weights); break;
            case 2: direct_block<2>(t, begin, end, column, weights); break;
#if HWY_TARGET != HWY_SSE4 && HWY_TARGET != HWY_SSSE3 && HWY_TARGET != HWY_AVX2
            case 3: direct_block<3>(t, begin, end, column, weights); break;
            default: direct_block<4>(t, begin, end, column, weights); break;
#endif
        }
        weights += depth * vectors * kLanes;
    }
}

// Rows of the kernel that meet the input, and the first of its columns that does for the pixels of one call.
struct Taps {
    int64_t y_begin, y_end, x_begin, x_end;
};

HWY_INLINE Taps taps_of(const ConvTask& t, const Window& w) {
    Taps taps{0, t.kernel_h, 0, t.kernel_w};
    while (taps.y_begin < taps.y_end && w.y + taps.y_begin * t.dilation_h < 0) ++taps.y_begin;
    while (taps.y_end > taps.y_begin && w.y + (taps.y_end - 1) * t.dilation_h >= t.height) --taps.y_end;
    while (taps.x_begin < taps.x_end && w.x + taps.x_begin * t.dilation_w < 0) ++taps.x_begin;
    while (taps.x_end > taps.x_begin && w.x + (taps.x_end - 1) * t.dilation_w >= t.width) --taps.x_end;
    return taps;
}

// PIXELS neighbours of a row that all meet the same taps.
template <int PIXELS>
HWY_INLINE void depthwise_pixels(const ConvTask& t, const Window& w, const Taps& taps, int64_t channel_begin,
                                 int64_t channel_end) {
    const ConvSegment& segment = t.segment[0];
    const int64_t step = t.stride_w * segment.stride;
    int64_t rows[PIXELS];
    for (int i = 0; i < PIXELS; ++i) rows[i] = w.into + i * t.out_column;
    for (int64_t c = channel_begin; c < channel_end; c += kLanes) {
        const int64_t n = channel_end - c;
        Tile<PIXELS, 1> tile;
        clear(tile);
        for (int64_t ky = taps.y_begin; ky < taps.y_end; ++ky)
            for (int64_t kx = taps.x_begin; kx < taps.x_end; ++kx) {
                const float* x =
                    segment.data + (w.at + ky * t.dilation_h * t.width + kx * t.dilation_w) * segment.stride + c;
                const VF k = load_first(t.weights + (ky * t.kernel_w + kx) * t.out_channels + c, n);
                if (n >= kLanes) {
#pragma GCC unroll 8
                    for (int i = 0; i < PIXELS; ++i) tile.v[i][0] = hn::MulAdd(hn::LoadU(f, x + i * step), k, tile.v[i][0]);
                } else {
                    for (int i = 0; i < PIXELS; ++i) tile.v[i][0] = hn::MulAdd(load_first(x + i * step, n), k, tile.v[i][0]);
                }
            }
        finish(tile, t.epilogue, rows, c, n);
        for (int i = 0; i < PIXELS; ++i) store_first(tile.v[i][0], t.out + rows[i] * t.out_stride + c, n);
    }
}

void depthwise(const ConvTask& t, int64_t row_begin, int64_t row_end, int64_t channel_begin, int64_t channel_end) {
    constexpr int kPixels = 8;
    // Columns of the result whose whole window lies within the input.
    const int64_t first = HWY_MIN(t.out_width, (t.pad_left + t.stride_w - 1) / t.stride_w);
    const int64_t room = t.width - 1 - (t.kernel_w - 1) * t.dilation_w + t.pad_left;
    const int64_t last = room < 0 ? first : HWY_MAX(first, HWY_MIN(t.out_width, room / t.stride_w + 1));
    for (int64_t row = row_begin; row < row_end; ++row) {
        const int64_t begin = row * t.out_width;
        for (int64_t x = 0; x < t.out_width;) {
            const Window w = window_of(t, begin + x);
            const Taps taps = taps_of(t, w);
            if (x >= first && x + kPixels <= last) {
                depthwise_pixels<kPixels>(t, w, taps, channel_begin, channel_end);
                x += kPixels;
            } else {
                depthwise_pixels<1>(t, w, taps, channel_begin, channel_end);
                ++x;
            }
        }
    }
}

}  // namespace

BP_CPU_ENTRY(conv, ConvKernels) {
    table->lanes = kLanes;
    table->block = kBlock;
    table->rows = rows_of(kVectors);
    table->direct = direct;
    table->depthwise = depthwise;
}
