#include "kernels/winograd.h"

#include "kernels/tile.h"

namespace {

using backplane::cpu::ConvSegment;
using backplane::cpu::ConvTask;
using backplane::cpu::kWinogradShapes;
using backplane::cpu::winograd_position;
using backplane::cpu::winograd_row;

// Tiles of one call. Both scratch matrices of a call (36 positions x 24 tiles x 64 channels: 221 KB each) and the weights of the
// position at hand stay in a second-level cache of 512 KB and more; fewer tiles would stream the weights more often.
constexpr int64_t kTiles = 24;

HWY_INLINE VF times(double factor, VF x) { return hn::Mul(hn::Set(f, static_cast<float>(factor)), x); }
HWY_INLINE VF times_add(double factor, VF x, VF y) { return hn::MulAdd(hn::Set(f, static_cast<float>(factor)), x, y); }

// t = B^T d, in place.
template <int KIND>
HWY_INLINE void transform_input(VF (&d)[6]) {
    constexpr double a = kWinogradShapes[KIND].points[0];
    constexpr double b = kWinogradShapes[KIND].points[1];
    constexpr double a2 = a * a;
    constexpr double b2 = b * b;
    const VF t0 = times_add(a2 * b2, d[0], times_add(-(a2 + b2), d[2], d[4]));
    const VF t5 = times_add(a2 * b2, d[1], times_add(-(a2 + b2), d[3], d[5]));
    const VF even_a = times_add(-b2, d[2], d[4]);
    const VF even_b = times_add(-a2, d[2], d[4]);
    const VF odd_a = times_add(-b2, d[1], d[3]);
    const VF odd_b = times_add(-a2, d[1], d[3]);
    d[0] = t0;
    d[1] = times_add(a, odd_a, even_a);
    d[2] = times_add(-a, odd_a, even_a);
    d[3] = times_add(b, odd_b, even_b);
    d[4] = times_add(-b, odd_b, even_b);
    d[5] = t5;
}

template <int KIND>
HWY_INLINE void transform_input(VF (&d)[8]) {
    constexpr double a = kWinogradShapes[KIND].points[0];
    constexpr double b = kWinogradShapes[KIND].points[1];
    constexpr double c = kWinogradShapes[KIND].points[2];
    constexpr double a2 = a * a;
    constexpr double b2 = b * b;
    constexpr double c2 = c * c;
    constexpr double e1 = a2 + b2 + c2;
    constexpr double e2 = a2 * b2 + a2 * c2 + b2 * c2;
    constexpr double e3 = a2 * b2 * c2;
    const VF t0 = times_add(-e3, d[0], times_add(e2, d[2], times_add(-e1, d[4], d[6])));
    const VF t7 = times_add(-e3, d[1], times_add(e2, d[3], times_add(-e1, d[5], d[7])));
    const VF even_a = times_add(b2 * c2, d[2], times_add(-(b2 + c2), d[4], d[6]));
    const VF odd_a = times_add(b2 * c2, d[1], times_add(-(b2 + c2), d[3], d[5]));
    const VF even_b = times_add(a2 * c2, d[2], times_add(-(a2 + c2), d[4], d[6]));
    const VF odd_b = times_add(a2 * c2, d[1], times_add(-(a2 + c2), d[3], d[5]));
    const VF even_c = times_add(a2 * b2, d[2], times_add(-(a2 + b2), d[4], d[6]));
    const VF odd_c = times_add(a2 * b2, d[1], times_add(-(a2 + b2), d[3], d[5]));
    d[0] = t0;
    d[1] = times_add(a, odd_a, even_a);
    d[2] = times_add(-a, odd_a, even_a);
    d[3] = times_add(b, odd_b, even_b);
    d[4] = times_add(-b, odd_b, even_b);
    d[5] = times_add(c, odd_c, even_c);
    d[6] = times_add(-c, odd_c, even_c);
    d[7] = t7;
}

constexpr double power(double x, int n) { return n == 0 ? 1.0 : x * power(x, n - 1); }

// y = A^T m.
template <int KIND, int SIZE, int OUTPUTS>
HWY_INLINE void transform_output(const VF (&m)[SIZE], VF (&y)[OUTPUTS]) {
    constexpr int pairs = (SIZE - 2) / 2;
    VF sum[pairs];
    VF difference[pairs];
#pragma GCC unroll 3
    for (int k = 0; k < pairs; ++k) {
        sum[k] = hn::Add(m[1 + 2 * k], m[2 + 2 * k]);
        difference[k] = hn::Sub(m[1 + 2 * k], m[2 + 2 * k]);
    }
#pragma GCC unroll 6
    for (int j = 0; j < OUTPUTS; ++j) {
        const VF* of = j % 2 == 0 ? sum : difference;
        VF v = j == 0 ? VF(hn::Add(m[0], of[0])) : times(power(kWinogradShapes[KIND].points[0], j), of[0]);
#pragma GCC unroll 3
        for (int k = 1; k < pairs; ++k) v = times_add(power(kWinogradShapes[KIND].points[k], j), of[k], v);
        if (j == OUTPUTS - 1) v = hn::Add(v, m[SIZE - 1]);
        y[j] = v;
    }
}

struct Place {
    int64_t n, y, x;  // image, and the tile's first output pixel
};

template <int OUTPUTS>
HWY_INLINE Place place_of(const ConvTask& t, int64_t tile) {
    const int64_t across = (t.out_width + OUTPUTS - 1) / OUTPUTS;
    const int64_t down = (t.out_height + OUTPUTS - 1) / OUTPUTS;
    return {tile / (across * down), tile / across % down * OUTPUTS, tile % across * OUTPUTS};
}

// One tile of one segment: d -> B^T d B, to row `to` of every position.
template <int KIND, int SIZE>
HWY_INLINE void input_tile(const float* const (&at)[SIZE * SIZE], int64_t channels, float* to, int64_t position) {
    for (int64_t c = 0; c < channels; c += kLanes) {
        const int64_t left = channels - c;
        VF middle[SIZE][SIZE];
#pragma GCC unroll 8
        for (int x = 0; x < SIZE; ++x) {
            VF d[SIZE];
            if (left >= kLanes) {
#pragma GCC unroll 8
                for (int y = 0; y < SIZE; ++y) d[y] = hn::LoadU(f, at[y * SIZE + x] + c);
            } else {
                for (int y = 0; y < SIZE; ++y) d[y] = load_first(at[y * SIZE + x] + c, left);
            }
            transform_input<KIND>(d);
#pragma GCC unroll 8
            for (int y = 0; y < SIZE; ++y) middle[y][x] = d[y];
        }
#pragma GCC unroll 8
        for (int y = 0; y < SIZE; ++y) {
            VF d[SIZE];
#pragma GCC unroll 8
            for (int x = 0; x < SIZE; ++x) d[x] = middle[y][x];
            transform_input<KIND>(d);
#pragma GCC unroll 8
            for (int x = 0; x < SIZE; ++x) store_first(d[x], to + c + (y * SIZE + x) * position, left);
        }
    }
}

template <int KIND, int SIZE, int OUTPUTS>
HWY_NOINLINE void input_tiles(const ConvTask& t, int64_t begin, int64_t count, float* v) {
    const int64_t position = winograd_position(kTiles, t.channels);
    const int64_t row = winograd_row(t.channels);
    for (int64_t i = 0; i < count; ++i) {
        const Place place = place_of<OUTPUTS>(t, begin + i);
        int64_t channel = 0;
        for (int64_t s = 0; s < t.segments; ++s) {
            const ConvSegment& segment = t.segment[s];
            const float* at[SIZE * SIZE];
            for (int y = 0; y < SIZE; ++y) {
                const int64_t iy = place.y - t.pad_top + y;
                const bool row_in = iy >= 0 && iy < t.height;
                for (int x = 0; x < SIZE; ++x) {
                    const int64_t ix = place.x - t.pad_left + x;
                    const bool in = row_in && ix >= 0 && ix < t.width;
                    at[y * SIZE + x] =
                        in ? segment.data + ((place.n * t.height + iy) * t.width + ix) * segment.stride : t.zeros;
                }
            }
            input_tile<KIND, SIZE>(at, segment.channels, v + i * row + channel, position);
            channel += segment.channels;
        }
    }
}

// m[rows][columns] = v[rows][channels] * weights of one position and block.
template <int VECTORS>
HWY_NOINLINE void product(const float* v, int64_t v_row, int64_t rows, int64_t channels, const float* weights, float* m,
                          int64_t m_row) {
    constexpr int ROWS = rows_of(VECTORS);
    for (int64_t r = 0; r < rows; r += ROWS) {
        const float* a[ROWS];
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; ++i) a[i] = v + HWY_MIN(r + i, rows - 1) * v_row;
        Tile<ROWS, VECTORS> tile;
        clear(tile);
        multiply<ROWS, VECTORS>(tile, a, weights, channels);
        store_rows(tile, rows - r, VECTORS * kLanes, m + r * m_row, m_row);
    }
}

template <int SIZE>
HWY_INLINE void products(const ConvTask& t, int64_t count, const float* v, float* m) {
    const int64_t v_row = winograd_row(t.channels);
    const int64_t m_row = winograd_row(t.out_channels);
    const float* weights = t.weights;
    for (int p = 0; p < SIZE * SIZE; ++p) {
        for (int64_t column = 0; column < t.out_channels; column += kBlock) {
            const int64_t vectors = (HWY_MIN(kBlock, t.out_channels - column) + kLanes - 1) / kLanes;
            switch (vectors) {
                case 1: product<1>(v, v_row, count, t.channels, weights, m + column, m_row); break;
                case 2: product<2>(v, v_row, count, t.channels, weights, m + column, m_row); break;
#if HWY_TARGET != HWY_SSE4 && HWY_TARGET != HWY_SSSE3 && HWY_TARGET != HWY_AVX2
                case 3: product<3>(v, v_row, count, t.channels, weights, m + column, m_row); break;
                default: product<4>(v, v_row, count, t.channels, weights, m + column, m_row); break;
#endif
            }
            weights += t.channels * vectors * kLanes;
        }
        v += winograd_position(kTiles, t.channels);
        m += winograd_position(kTiles, t.out_channels);
    }
}

// One tile, one vector of output channels: A^T m A, epilogue, store.
template <int KIND, int SIZE, int OUTPUTS>
HWY_INLINE void output_tile(const ConvTask& t, const float* m, int64_t position, const int64_t (&rows)[OUTPUTS * OUTPUTS],
                            uint64_t valid, int64_t c) {
    VF middle[OUTPUTS][SIZE];
#pragma GCC unroll 8
    for (int x = 0; x < SIZE; ++x) {
        VF column[SIZE];
        VF y[OUTPUTS];
#pragma GCC unroll 8
        for (int i = 0; i < SIZE; ++i) column[i] = hn::LoadU(f, m + (i * SIZE + x) * position);
        transform_output<KIND, SIZE, OUTPUTS>(column, y);
#pragma GCC unroll 6
        for (int i = 0; i < OUTPUTS; ++i) middle[i][x] = y[i];
    }
    const int64_t left = t.out_channels - c;
#pragma GCC unroll 6
    for (int i = 0; i < OUTPUTS; ++i) {
        VF y[OUTPUTS];
        transform_output<KIND, SIZE, OUTPUTS>(middle[i], y);
        Tile<OUTPUTS, 1> tile;
        int64_t pixels[OUTPUTS];
        for (int x = 0; x < OUTPUTS; ++x) {
            tile.v[x][0] = y[x];
            pixels[x] = rows[i * OUTPUTS + x];
        }
        finish(tile, t.epilogue, pixels, c, left);
        for (int x = 0; x < OUTPUTS; ++x)
            if ((valid >> (i * OUTPUTS + x) & 1) != 0) store_first(tile.v[x][0], t.out + pixels[x] * t.out_stride + c, left);
    }
}

template <int KIND, int SIZE, int OUTPUTS>
HWY_NOINLINE void output_tiles(const ConvTask& t, int64_t begin, int64_t count, const float* m) {
    const int64_t position = winograd_position(kTiles, t.out_channels);
    const int64_t row = winograd_row(t.out_channels);
    for (int64_t i = 0; i < count; ++i) {
        const Place place = place_of<OUTPUTS>(t, begin + i);
        int64_t rows[OUTPUTS * OUTPUTS];
        uint64_t valid = 0;
        for (int y = 0; y < OUTPUTS; ++y)
            for (int x = 0; x < OUTPUTS; ++x) {
                const int64_t oy = HWY_MIN(place.y + y, t.out_height - 1);
                const int64_t ox = HWY_MIN(place.x + x, t.out_width - 1);
                rows[y * OUTPUTS + x] = (place.n * t.out_height + oy) * t.out_width + ox;
                if (oy == place.y + y && ox == place.x + x) valid |= uint64_t{1} << (y * OUTPUTS + x);
            }
        for (int64_t c = 0; c < t.out_channels; c += kLanes)
            output_tile<KIND, SIZE, OUTPUTS>(t, m + i * row + c, position, rows, valid, c);
    }
}

template <int KIND>
void run(const ConvTask& t, int64_t begin, int64_t count, float* scratch) {
    constexpr int SIZE = kWinogradShapes[KIND].size;
    constexpr int OUTPUTS = kWinogradShapes[KIND].outputs;
    float* m = scratch + SIZE * SIZE * winograd_position(kTiles, t.channels);
    input_tiles<KIND, SIZE, OUTPUTS>(t, begin, count, scratch);
    products<SIZE>(t, count, scratch, m);
    output_tiles<KIND, SIZE, OUTPUTS>(t, begin, count, m);
}

}  // namespace

BP_CPU_ENTRY(winograd, WinogradKernels) {
    table->tiles = kTiles;
    table->run[backplane::cpu::kWinograd4x3] = run<backplane::cpu::kWinograd4x3>;
    table->run[backplane::cpu::kWinograd4x5] = run<backplane::cpu::kWinograd4x5>;
    table->run[backplane::cpu::kWinograd6x3] = run<backplane::cpu::kWinograd6x3>;
}
