#include "kernels/halves.h"

#include "kernels/simd.h"
#include "kernels/tile.h"

#if HWY_TARGET == HWY_AVX3 && defined(__AVX512BF16__)

namespace {

using backplane::cpu::HalvesTask;

// Depth of one pass over the rows: a panel of 128 pairs by 64 columns, 32 KiB, stays in the nearest cache.
constexpr int64_t kPanelDepth = 256;

void round(const float* from, int64_t n, uint16_t* into) {
    for (; n > 0; n -= kLanes, from += kLanes, into += kLanes) {
        const auto rounded = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(load_first(from, n).raw));
        const auto some = n >= kLanes ? 0xffffU : (1U << (n + 1) / 2 * 2) - 1;
        _mm256_mask_storeu_epi16(into, static_cast<__mmask16>(some), rounded);
    }
}

// Two depths of a column are a word, the first in the lower half.
HWY_INLINE void pair_up(const uint16_t* b, int64_t width, int64_t depth, uint32_t* out) {
    const hn::Rebind<uint16_t, F> halves;
    const hn::RebindToUnsigned<F> words;
    for (int64_t k = 0; k < depth; k += 2, b += 2 * width, out += width)
        for (int64_t j = 0; j < width; j += kLanes) {
            const auto low = hn::PromoteTo(words, hn::LoadU(halves, b + j));
            const auto high = k + 1 < depth ? hn::PromoteTo(words, hn::LoadU(halves, b + width + j)) : hn::Zero(words);
            hn::StoreU(hn::Or(low, hn::ShiftLeft<16>(high)), words, out + j);
        }
}

template <int ROWS, int VECTORS>
HWY_NOINLINE void halves_panel(const HalvesTask& t, int64_t row_begin, int64_t row_end, int64_t column, int64_t k_begin,
                               int64_t k_end) {
    const int64_t columns = HWY_MIN(kBlock, t.columns - column);
    const int64_t pairs = (k_end - k_begin + 1) / 2;
    for (int64_t r = row_begin; r < row_end; r += ROWS) {
        const int64_t valid = HWY_MIN(static_cast<int64_t>(ROWS), row_end - r);
        const uint16_t* a[ROWS];
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
        const uint32_t* b = t.panel;
        for (int64_t k = 0; k < pairs; ++k, b += VECTORS * kLanes) {
            __m512bh w[VECTORS];
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; ++j) w[j] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + j * kLanes));
#pragma GCC unroll 16
            for (int i = 0; i < ROWS; ++i) {
                int32_t pair;
                memcpy(&pair, a[i] + 2 * k, sizeof pair);
                const auto x = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
#pragma GCC unroll 4
                for (int j = 0; j < VECTORS; ++j) tile.v[i][j] = VF{_mm512_dpbf16_ps(tile.v[i][j].raw, w[j], x)};
            }
        }
        if (k_end == t.depth) finish_copy(tile, t.epilogue, rows, column, columns);
        store_rows(tile, valid, columns, t.out + r * t.out_row + column, t.out_row);
    }
}

void run(const HalvesTask& t, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end) {
    for (int64_t column = column_begin; column < column_end; column += kBlock) {
        const int64_t vectors = (HWY_MIN(kBlock, t.columns - column) + kLanes - 1) / kLanes;
        const int64_t width = vectors * kLanes;
        const uint16_t* b = t.b + column * t.depth;
        for (int64_t k = 0; k == 0 || k < t.depth; k += kPanelDepth) {
            const int64_t end = HWY_MIN(k + kPanelDepth, t.depth);
            pair_up(b + k * width, width, end - k, t.panel);
            switch (vectors) {
                case 1: halves_panel<rows_of(1), 1>(t, row_begin, row_end, column, k, end); break;
                case 2: halves_panel<rows_of(2), 2>(t, row_begin, row_end, column, k, end); break;
                case 3: halves_panel<rows_of(3), 3>(t, row_begin, row_end, column, k, end); break;
                default: halves_panel<rows_of(4), 4>(t, row_begin, row_end, column, k, end); break;
            }
        }
    }
}

}  // namespace

BP_CPU_ENTRY(halves, HalvesKernels) {
    table->panel_words = kPanelDepth / 2 * kBlock;
    table->round = round;
    table->run = run;
}

#else

BP_CPU_ENTRY(halves, HalvesKernels) { *table = {}; }

#endif
