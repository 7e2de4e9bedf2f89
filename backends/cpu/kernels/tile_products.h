// Products on a matrix unit, whichever it is: class Unit has its instructions (tiles.cpp; tests have one that computes what they are defined as).
//   struct Config; static void begin(Config& before), end(before);  around all others, on the thread that uses it, which is then as it was before
//   template <int T> static void clear(), load(from, bytes between rows), store(to, bytes between rows);
//   template <int T> static void load_once(...);          as load(), of what need not stay in the nearest cache
//   template <int C, int A, int B> static void multiply();  tile C += A by B, of bf16
#pragma once

#include "kernels/tile.h"
#include "kernels/tiles.h"

namespace {

using backplane::cpu::kTileDepth;
using backplane::cpu::kTileNumbers;
using backplane::cpu::kTileRows;
using backplane::cpu::PackedType;
using backplane::cpu::TilesTask;
using backplane::cpu::whole_tiles;

// Depth of a panel of the right-hand side, a multiple of the 256 depths of a block. A pair of vectors of columns, of one plane or two, is 32 KiB,
// which the nearest cache keeps while all rows of a range go over it.
constexpr int64_t panel_depth(int planes) { return planes == 1 ? 512 : 256; }
constexpr int64_t kPanelBytes = 96 << 10;
constexpr int64_t kDecodedDepth = 256;  // as floats, before they become planes
constexpr int64_t kDecodedBytes = kDecodedDepth * kBlock * 4;

HWY_INLINE __mmask16 first_of(int64_t n) {
    return n >= kLanes ? 0xffff : n <= 0 ? 0 : static_cast<__mmask16>((1U << n) - 1);
}

// Of which planes would lose something.
HWY_INLINE __mmask16 out_of_planes(__m512 x) {
    constexpr int kLeast = 0x0c800000;  // 2^-102
    constexpr int kMost = 0x7f7f7fff;   // the last that rounds to a finite one
    const __m512i bits = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
    const __m512i above = _mm512_sub_epi32(bits, _mm512_set1_epi32(kLeast));
    return _mm512_mask_cmpgt_epu32_mask(_mm512_test_epi32_mask(bits, bits), above, _mm512_set1_epi32(kMost - kLeast));
}

HWY_INLINE __m512 low_half_as_float(__m512i words) { return _mm512_castsi512_ps(_mm512_slli_epi32(words, 16)); }
HWY_INLINE __m512 high_half_as_float(__m512i words) {
    return _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32(static_cast<int>(0xffff0000))));
}

bool split(const float* from, int64_t rows, int64_t row, int64_t depth, int planes, uint16_t* into) {
    const int64_t parts = whole_tiles(depth, kTileDepth);
    __mmask16 lost = 0;
    for (int64_t r = 0; r < kTileRows; ++r) {
        uint16_t* to = into + r * kTileDepth;
        if (r >= rows) {
            for (int64_t i = 0; i < parts * planes; ++i, to += kTileNumbers) _mm512_storeu_si512(to, _mm512_setzero_si512());
            continue;
        }
        const float* at = from + r * row;
        for (int64_t left = depth; left > 0; left -= kTileDepth, at += kTileDepth) {
            __m512 x0 = _mm512_maskz_loadu_ps(first_of(left), at);
            __m512 x1 = _mm512_maskz_loadu_ps(first_of(left - kLanes), at + kLanes);
            lost |= out_of_planes(x0) | out_of_planes(x1);
            for (int i = planes;;) {
                const auto halves = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(x1, x0));
                _mm512_storeu_si512(to, halves);
                to += kTileNumbers;
                if (--i == 0) break;
                x0 = _mm512_sub_ps(x0, low_half_as_float(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(halves))));
                x1 = _mm512_sub_ps(x1, low_half_as_float(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(halves, 1))));
            }
        }
    }
    return lost == 0;
}

// Where a tile of the right-hand side is in a panel of `parts` times 32 depths: pairs of vectors of columns one after the other, in each the
// parts, in each the vectors, in each the planes.
struct PanelForm {
    int64_t vectors, parts;
    int planes;

    [[nodiscard]] HWY_INLINE int64_t in_pair(int64_t pair) const { return HWY_MIN(vectors - 2 * pair, int64_t{2}); }
    [[nodiscard]] HWY_INLINE int64_t at(int64_t vector, int64_t part) const {
        const int64_t pair = vector / 2;
        return ((2 * pair * parts + part * in_pair(pair)) + vector % 2) * planes * kTileNumbers;
    }
};

// `depth` rows of a block of columns, from 32 * part of the panel on. What planes would lose is looked for where it counts: that is half of
// the instructions.
template <bool EXACT>
HWY_NOINLINE bool pack_floats(const float* from, int64_t depth, const PanelForm& form, int64_t part, uint16_t* panel) {
    const int64_t width = form.vectors * kLanes;
    alignas(64) constexpr uint16_t kPairs[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __m512i pairs = _mm512_load_si512(kPairs);
    __mmask16 lost = 0;
    for (int64_t k = 0; k < depth; k += kTileDepth, ++part)
        for (int64_t j = 0; j < form.vectors; ++j) {
            uint16_t* tile = panel + form.at(j, part);
            const float* at = from + k * width + j * kLanes;
            for (int64_t d = 0; d < kTileDepth; d += 2, tile += kTileDepth, at += 2 * width) {
                __m512 low = k + d < depth ? _mm512_loadu_ps(at) : _mm512_setzero_ps();
                __m512 high = k + d + 1 < depth ? _mm512_loadu_ps(at + width) : _mm512_setzero_ps();
                if constexpr (EXACT) lost |= out_of_planes(low) | out_of_planes(high);
                uint16_t* to = tile;
                for (int i = form.planes;;) {
                    const auto halves = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
                    const __m512i words = _mm512_permutexvar_epi16(pairs, halves);
                    _mm512_storeu_si512(to, words);
                    to += kTileNumbers;
                    if (--i == 0) break;
                    low = _mm512_sub_ps(low, low_half_as_float(words));
                    high = _mm512_sub_ps(high, high_half_as_float(words));
                }
            }
        }
    return lost == 0;
}

// The same of bf16, which are planes as they are. What is below the normal numbers becomes zero.
template <bool EXACT>
HWY_NOINLINE bool pack_bf16(const uint16_t* from, int64_t depth, const PanelForm& form, int64_t part, uint16_t* panel) {
    const int64_t width = form.vectors * kLanes;
    const auto row = [&](const uint16_t* at, bool there) HWY_ATTR {
        if (!there) return _mm512_setzero_si512();
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
    };
    __mmask16 lost = 0;
    for (int64_t k = 0; k < depth; k += kTileDepth, ++part)
        for (int64_t j = 0; j < form.vectors; ++j) {
            uint16_t* tile = panel + form.at(j, part);
            const uint16_t* at = from + k * width + j * kLanes;
            for (int64_t d = 0; d < kTileDepth; d += 2, tile += kTileDepth, at += 2 * width) {
                const __m512i low = row(at, k + d < depth);
                const __m512i words = _mm512_or_si512(low, _mm512_slli_epi32(row(at + width, k + d + 1 < depth), 16));
                if constexpr (EXACT)
                    lost |= out_of_planes(low_half_as_float(words)) | out_of_planes(high_half_as_float(words));
                _mm512_storeu_si512(tile, words);
            }
        }
    return lost == 0;
}

// A panel's depths from packed columns, of which `b` is the first.
template <bool EXACT>
bool pack_panel(const TilesTask& t, const uint8_t* b, int64_t depth, const PanelForm& form, uint8_t* decoded,
                uint16_t* panel) {
    if (t.type == backplane::cpu::kPackedF32)
        return pack_floats<EXACT>(reinterpret_cast<const float*>(b), depth, form, 0, panel);
    if (t.type == backplane::cpu::kPackedBF16)
        return pack_bf16<EXACT>(reinterpret_cast<const uint16_t*>(b), depth, form, 0, panel);
    // So few depths at a time that they stay in the nearest cache, where blocks are small enough.
    const int64_t step = backplane::cpu::block_form(t.type).depth == kDecodedDepth ? kDecodedDepth : 64;
    auto* floats = reinterpret_cast<float*>(decoded);
    bool held = true;
    for (int64_t k = 0; k < depth; k += step) {
        const int64_t n = HWY_MIN(step, depth - k);
        b = t.decode(t.type, b, form.vectors, n, floats);
        held = pack_floats<EXACT>(floats, n, form, k / kTileDepth, panel) && held;
    }
    return held;
}

// Rows of the result that are written next, two lines of each, asked for between the products: stores by themselves wait for ten lines at a time.
struct NextRows {
    const float* at = nullptr;
    int64_t row = 0, rows = 0;  // floats from one to the next; how many
    int64_t some = 0;           // at a time

    HWY_INLINE void ask() {
        const int64_t n = HWY_MIN(some, rows);
        for (int64_t i = 0; i < n; ++i, at += row) {
            __builtin_prefetch(at, 0, 2);
            __builtin_prefetch(at + kLanes, 0, 2);
        }
        rows -= n;
    }
};

// Tiles of the left side: the first, and numbers from one row of them to the next. All rows of a range are more than the nearest cache holds, and
// would drive the panel out of it: then each is read past that cache.
struct LeftTiles {
    const uint16_t* at;
    int64_t row;
    bool once;
};

// Where sums are so far, which is nowhere of the first depths, and where they go.
struct SumPlaces {
    const float* from;
    float* to;
    int64_t to_row;  // floats from one row to the next
};

// ROWS x COLUMNS tiles of sums, of `parts` times 32 depths. Tiles 0 to 3 hold sums, 4 and 5 rows, 6 and 7 columns.
template <class Unit, int ROWS, int COLUMNS>
HWY_NOINLINE void multiply_tiles(const TilesTask& t, const LeftTiles& left, const uint16_t* b, int64_t parts,
                                 const SumPlaces& places, NextRows next) {
    constexpr int64_t kSumsRow = kBlock * 4;
    const auto sum = [&](int i, int j) HWY_ATTR { return places.from + i * kTileRows * kBlock + j * kLanes; };
    const auto into = [&](int i, int j) HWY_ATTR { return places.to + i * kTileRows * places.to_row + j * kLanes; };
    if (places.from == nullptr) {
        Unit::template clear<0>();
        if constexpr (COLUMNS == 2) Unit::template clear<1>();
        if constexpr (ROWS == 2) Unit::template clear<2>();
        if constexpr (ROWS == 2 && COLUMNS == 2) Unit::template clear<3>();
    } else {
        Unit::template load<0>(sum(0, 0), kSumsRow);
        if constexpr (COLUMNS == 2) Unit::template load<1>(sum(0, 1), kSumsRow);
        if constexpr (ROWS == 2) Unit::template load<2>(sum(1, 0), kSumsRow);
        if constexpr (ROWS == 2 && COLUMNS == 2) Unit::template load<3>(sum(1, 1), kSumsRow);
    }
    constexpr int64_t kRow = 64;
    next.some = whole_tiles(next.rows, parts);
    const uint16_t* a = left.at;
    for (int64_t p = 0; p < parts; ++p, b += COLUMNS * t.b_planes * kTileNumbers) {
        next.ask();
        for (int i = 0; i < t.a_planes; ++i, a += kTileNumbers) {
            if (left.once) {
                Unit::template load_once<4>(a, kRow);
                if constexpr (ROWS == 2) Unit::template load_once<5>(a + left.row, kRow);
            } else {
                Unit::template load<4>(a, kRow);
                if constexpr (ROWS == 2) Unit::template load<5>(a + left.row, kRow);
            }
            const int planes = HWY_MIN(t.b_planes, backplane::cpu::kMostPlanes - i);
            const uint16_t* right = b;
            for (int j = 0; j < planes; ++j, right += kTileNumbers) {
                Unit::template load<6>(right, kRow);
                Unit::template multiply<0, 4, 6>();
                if constexpr (ROWS == 2) Unit::template multiply<2, 5, 6>();
                if constexpr (COLUMNS == 2) {
                    Unit::template load<7>(right + t.b_planes * kTileNumbers, kRow);
                    Unit::template multiply<1, 4, 7>();
                    if constexpr (ROWS == 2) Unit::template multiply<3, 5, 7>();
                }
            }
        }
    }
    const int64_t row = places.to_row * 4;
    Unit::template store<0>(into(0, 0), row);
    if constexpr (COLUMNS == 2) Unit::template store<1>(into(0, 1), row);
    if constexpr (ROWS == 2) Unit::template store<2>(into(1, 0), row);
    if constexpr (ROWS == 2 && COLUMNS == 2) Unit::template store<3>(into(1, 1), row);
}

// Sums of whole tiles become results, as many rows as there are and so many vectors of columns.
HWY_NOINLINE void finish_tiles(const TilesTask& t, const float* sums, int64_t row_begin, int64_t row_end, int64_t column,
                               int64_t vectors) {
    constexpr int kRows = 8;
    const int64_t columns = HWY_MIN(vectors * kLanes, t.columns - column);
    for (int64_t r = row_begin; r < row_end; r += kRows, sums += kRows * kBlock) {
        const int64_t valid = HWY_MIN(static_cast<int64_t>(kRows), row_end - r);
        int64_t rows[kRows];
        for (int i = 0; i < kRows; ++i) rows[i] = r + HWY_MIN(static_cast<int64_t>(i), valid - 1);
        for (int64_t c = 0; c < columns; c += kLanes) {
            Tile<kRows, 1> tile;
            each(tile, [&](VF, int i, int) HWY_ATTR { return hn::LoadU(f, sums + i * kBlock + c); });
            finish(tile, t.epilogue, rows, column + c, columns - c);
            for (int i = 0; i < valid; ++i) store_first(tile.v[i][0], t.out + rows[i] * t.out_row + column + c, columns - c);
        }
    }
}

// All rows of a range by a panel, whose first depth is k; `sums` are those of the block of columns, kept from panel to panel. All rows by a pair of
// vectors, then by the next: a tile from the second-level cache takes as long as two products, and so two of four come from the nearest. Whole tiles
// that nothing follows are written where results belong.
template <class Unit>
void multiply_panel(const TilesTask& t, int64_t row_begin, int64_t row_end, int64_t column, int64_t k, int64_t depth,
                    const PanelForm& form, const uint16_t* panel, float* sums, bool once) {
    const int64_t a_tile = backplane::cpu::tile_row(t.depth, t.a_planes) * kTileNumbers;
    const bool last = k + depth == t.depth;
    const int64_t kept = k == 0 && last ? 0 : kBlock;  // of one panel they are results at once
    typename Unit::Config before;
    Unit::begin(before);
    for (int64_t j = 0; j < form.vectors; j += 2) {
        const uint16_t* right = panel + form.at(j, 0);
        const int64_t vectors = HWY_MIN(form.vectors - j, int64_t{2});
        const int64_t first_column = column + j * kLanes;
        const bool whole = last && t.epilogue.count == 0 && first_column + vectors * kLanes <= t.columns;
        float* at = sums + j * kLanes;
        for (int64_t r = row_begin; r < row_end; r += 2 * kTileRows, at += 2 * kTileRows * kept) {
            const uint16_t* a = t.a + r / kTileRows * a_tile + k / kTileDepth * t.a_planes * kTileNumbers;
            const int64_t rows = HWY_MIN(2 * kTileRows, row_end - r);
            float* out = t.out + r * t.out_row + first_column;
            const bool direct = whole && rows % kTileRows == 0;
            const SumPlaces places{k == 0 ? nullptr : at, direct ? out : at, direct ? t.out_row : kBlock};
            const NextRows next{out, t.out_row, last ? rows : 0};
            const auto with = [&](auto* one) HWY_ATTR {
                one(t, LeftTiles{a, a_tile, once}, right, form.parts, places, next);
            };
            if (rows <= kTileRows) {
                with(vectors == 1 ? multiply_tiles<Unit, 1, 1> : multiply_tiles<Unit, 1, 2>);
            } else {
                with(vectors == 1 ? multiply_tiles<Unit, 2, 1> : multiply_tiles<Unit, 2, 2>);
            }
            if (last && !direct) finish_tiles(t, at, r, r + rows, first_column, vectors);
        }
    }
    Unit::end(before);
}

// A part of the depth by all columns before the next: what it is of the left side, half a megabyte or so, stays in the second-level cache. From the
// third-level one a core of a Sapphire Rapids gets a tile in the time of six products.
template <class Unit>
uint32_t run_tiles(const TilesTask& t, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end) {
    uint8_t* decoded = t.scratch;
    auto* panel = reinterpret_cast<uint16_t*>(decoded + kDecodedBytes);
    auto* sums = reinterpret_cast<float*>(decoded + kDecodedBytes + kPanelBytes);
    const int64_t block_sums = whole_tiles(row_end - row_begin, kTileRows) * kTileRows * kBlock;
    const int64_t of_panel = panel_depth(t.b_planes);
    // Of one block of columns the left side comes from the third-level cache as often as from the second: it may as well stay where it came to.
    const bool once = row_end - row_begin > 2 * kTileRows && column_end - column_begin > kBlock;
    uint32_t missing = 0;
    for (int64_t k = 0; k < t.depth; k += of_panel) {
        const int64_t depth = HWY_MIN(of_panel, t.depth - k);
        for (int64_t column = column_begin; column < column_end; column += kBlock) {
            const int64_t index = (column - column_begin) / kBlock;
            if ((missing >> index & 1) != 0) continue;
            const PanelForm form{whole_tiles(HWY_MIN(kBlock, t.columns - column), kLanes), whole_tiles(depth, kTileDepth),
                                 t.b_planes};
            const auto* b = static_cast<const uint8_t*>(t.b) +
                            column * backplane::cpu::packed_column_bytes(t.type, t.depth) +
                            form.vectors * kLanes * backplane::cpu::packed_column_bytes(t.type, k);
            if (!(t.exact ? pack_panel<true> : pack_panel<false>)(t, b, depth, form, decoded, panel)) {
                missing |= 1U << index;
                continue;
            }
            multiply_panel<Unit>(t, row_begin, row_end, column, k, depth, form, panel, sums + index * block_sums, once);
        }
    }
    return missing;
}

template <class Unit>
void fill_tiles(backplane::cpu::TilesKernels* table, const backplane::cpu::TileCosts& costs) {
    table->costs = costs;
    table->scratch_bytes = kDecodedBytes + kPanelBytes;
    table->row_bytes = kBlock * 4;
    table->split = split;
    table->run = run_tiles<Unit>;
}

}  // namespace
