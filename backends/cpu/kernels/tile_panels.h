// Both sides of a product on a matrix unit as tiles of bf16: rows that are split, and panels of the right-hand side.
#pragma once

#include "kernels/block_parts.h"
#include "kernels/tiles.h"

namespace {

using backplane::cpu::kTileDepth;
using backplane::cpu::kTileNumbers;
using backplane::cpu::kTileRows;
using backplane::cpu::TilesTask;
using backplane::cpu::whole_tiles;

// Depth of a panel of the right-hand side. A pair of vectors of columns is 24 to 32 KiB, which the nearest cache keeps while all rows of a range go over it:
// of three planes and 256 depths it was 48, and with all tiles from the second-level cache as much came from there as a core can have (docs/benchmarks.md).
// Whole blocks of 256 depths are decoded at once.
constexpr int64_t panel_depth(int planes, PackedType type) {
    return planes == 1 ? 512 : planes == 2 || block_form(type).depth > 128 ? 256 : 128;
}
constexpr int64_t kPanelBytes = 96 << 10;
constexpr int64_t kPair = 2 * kLanes;
constexpr int64_t kWholePanelBytes = backplane::cpu::kWholeDepth * kPair * 2;
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

// Part by part of the depth, so that tiles are written one after the other: row by row each line would be a quarter of a page from the one before.
bool split(const float* from, int64_t rows, int64_t row, int64_t depth, int planes, uint16_t* into) {
    __mmask16 lost = 0;
    for (int64_t left = depth; left > 0; left -= kTileDepth, from += kTileDepth, into += planes * kTileNumbers)
        for (int64_t r = 0; r < kTileRows; ++r) {
            uint16_t* to = into + r * kTileDepth;
            if (r >= rows) {
                for (int i = 0; i < planes; ++i, to += kTileNumbers) _mm512_storeu_si512(to, _mm512_setzero_si512());
                continue;
            }
            __m512 x0 = _mm512_maskz_loadu_ps(first_of(left), from + r * row);
            __m512 x1 = _mm512_maskz_loadu_ps(first_of(left - kLanes), from + r * row + kLanes);
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
    return lost == 0;
}

// Where a tile of the right-hand side is in a panel of `parts` times 32 depths: pairs of vectors of columns one after the other, in each the
// parts, in each the vectors, in each the planes.
struct PanelForm {
    int64_t vectors, parts;
    int planes;

    [[nodiscard]] HWY_INLINE int64_t width() const { return vectors * kLanes; }
    [[nodiscard]] HWY_INLINE int64_t in_pair(int64_t pair) const { return HWY_MIN(vectors - 2 * pair, int64_t{2}); }
    [[nodiscard]] HWY_INLINE int64_t at(int64_t vector, int64_t part) const {
        const int64_t pair = vector / 2;
        return ((2 * pair * parts + part * in_pair(pair)) + vector % 2) * planes * kTileNumbers;
    }
};

// Of two vectors of bf16, one after the other: each of the first beside its of the second.
HWY_INLINE __m512i order_of_pairs() {
    alignas(64) constexpr uint16_t kPairs[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return _mm512_load_si512(kPairs);
}

HWY_INLINE __m512 floats_at(const float* at) { return _mm512_loadu_ps(at); }
HWY_INLINE __m512 floats_at(const uint16_t* halves) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(halves)));
}

// A vector of bf16, as floats, rounded to the nearest, halves away from zero.
HWY_INLINE __m512i rounded_words(__m512 x) {
    return _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000)),
                            _mm512_set1_epi32(static_cast<int>(0xffff0000)));
}

// Two vectors as pairs of bf16, rounded to the nearest, halves up; NaN may become zero. Between products it is faster than the instruction that rounds.
HWY_INLINE __m512i rounded_pairs(__m512 low, __m512 high) {
    const __m512i half = _mm512_set1_epi32(0x8000);
    const __m512i lower = _mm512_srli_epi32(_mm512_add_epi32(_mm512_castps_si512(low), half), 16);
    return _mm512_mask_mov_epi16(lower, 0xaaaaaaaa, _mm512_add_epi32(_mm512_castps_si512(high), half));
}

// Where rounding would carry a NaN of high bits into zero.
HWY_INLINE __m512 plain_nan(__m512 x) {
    return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), _mm512_set1_ps(__builtin_nanf("")));
}

// Of a block of columns a pair of depths by a vector: `from` is the first, `there` of them are. What planes would lose is looked for where it counts: that is
// half of the instructions.
template <bool EXACT, typename T>
HWY_INLINE __mmask16 pack_pair(const T* from, int64_t there, int64_t width, int planes, uint16_t* to) {
    __m512 low = there > 0 ? floats_at(from) : _mm512_setzero_ps();
    __m512 high = there > 1 ? floats_at(from + width) : _mm512_setzero_ps();
    __mmask16 lost = 0;
    if constexpr (EXACT) {
        lost = out_of_planes(low) | out_of_planes(high);
    } else {
        low = plain_nan(low);
        high = plain_nan(high);
    }
    for (int i = planes; i > 1; --i, to += kTileNumbers) {
        const __m512i first = rounded_words(low);
        const __m512i second = rounded_words(high);
        _mm512_storeu_si512(to, _mm512_mask_mov_epi16(_mm512_srli_epi32(first, 16), 0xaaaaaaaa, second));
        low = _mm512_sub_ps(low, _mm512_castsi512_ps(first));
        high = _mm512_sub_ps(high, _mm512_castsi512_ps(second));
    }
    _mm512_storeu_si512(to, rounded_pairs(low, high));
    return lost;
}

// `depth` rows of a block of columns, floats or f16, from 32 * part of the panel on.
template <bool EXACT, typename T>
HWY_NOINLINE bool pack_floats(const T* from, int64_t depth, const PanelForm& form, int64_t part, uint16_t* panel) {
    __mmask16 lost = 0;
    for (int64_t k = 0; k < depth; k += kTileDepth, ++part)
        for (int64_t d = 0; d < kTileDepth; d += 2)
            for (int64_t j = 0; j < form.vectors; ++j)
                lost |= pack_pair<EXACT>(from + (k + d) * form.width() + j * kLanes, depth - k - d, form.width(),
                                         form.planes, panel + form.at(j, part) + d / 2 * kTileDepth);
    return lost == 0;
}

// The same of bf16, which are planes as they are. What is below the normal numbers becomes zero.
template <bool EXACT>
HWY_NOINLINE bool pack_bf16(const uint16_t* from, int64_t depth, const PanelForm& form, int64_t part, uint16_t* panel) {
    const auto row = [&](const uint16_t* at, bool there) HWY_ATTR {
        if (!there) return _mm512_setzero_si512();
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
    };
    __mmask16 lost = 0;
    for (int64_t k = 0; k < depth; k += kTileDepth, ++part)
        for (int64_t j = 0; j < form.vectors; ++j) {
            uint16_t* tile = panel + form.at(j, part);
            const uint16_t* at = from + k * form.width() + j * kLanes;
            for (int64_t d = 0; d < kTileDepth; d += 2, tile += kTileDepth, at += 2 * form.width()) {
                const __m512i low = row(at, k + d < depth);
                const __m512i words = _mm512_or_si512(low, _mm512_slli_epi32(row(at + form.width(), k + d + 1 < depth), 16));
                if constexpr (EXACT)
                    lost |= out_of_planes(low_half_as_float(words)) | out_of_planes(high_half_as_float(words));
                _mm512_storeu_si512(tile, words);
            }
        }
    return lost == 0;
}

// Digits become the last digits of a float of 2^15 and more, and weights what is left of them times a scale, which takes no shuffles. What makes a number of
// bf16 of it is cut: with a scale that is 2^-9 of it and half as much more, no weight is off by more than 5/4 of what the nearest may be, nor the mean by more
// than 2^-13. Where what is taken off is a middle the scale has 14 digits, so that its product with that is exact, and a digit in the middle is nothing.
HWY_INLINE __m512i cut_pairs(__m512 low, __m512 high) {
    const __m512i lower = _mm512_srli_epi32(_mm512_castps_si512(low), 16);
    return _mm512_mask_mov_epi16(lower, 0xaaaaaaaa, _mm512_castps_si512(high));
}

// Of a group of a part: what its digits are multiplied by, and what is taken off that.
struct CutScale {
    __m512 scale, off;

    template <PackedType TYPE>
    static HWY_INLINE CutScale of(const BlockPart<TYPE>& part, int group) {
        constexpr BlockForm kForm = block_form(TYPE);
        const __m512 longer = _mm512_set1_ps(1 + 0x1.8p-9F);
        const __m512 scale = _mm512_mul_ps(part.scale(group).raw, longer);
        if constexpr (kForm.leasts) {
            return {scale, _mm512_mul_ps(part.least(group).raw, longer)};
        } else {
            const __m512 cut = _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(scale), _mm512_set1_epi32(~0x3ff)));
            return {cut, _mm512_mul_ps(cut, _mm512_set1_ps(kForm.middle))};
        }
    }
};

// Digits of BITS bits, from bit AT of each word on, times a scale, less what is taken off.
template <int BITS, int AT>
class ShiftedDigits {
public:
    explicit HWY_INLINE ShiftedDigits(const CutScale& by)
        : scale_(_mm512_mul_ps(by.scale, _mm512_set1_ps(1 / kUnit))),
          less_(_mm512_fmadd_ps(scale_, _mm512_set1_ps(32768), by.off)) {}
    [[nodiscard]] HWY_INLINE __m512 operator()(__m512i words) const {
        const __m512i mask = _mm512_set1_epi32(((1 << BITS) - 1) << AT);
        const __m512i number = _mm512_ternarylogic_epi32(words, mask, _mm512_set1_epi32(0x47000000), 0xea);
        return _mm512_fmsub_ps(_mm512_castsi512_ps(number), scale_, less_);
    }

private:
    static_assert(BITS + AT <= 23);
    static constexpr float kUnit = static_cast<float>(1 << AT) / 256;
    __m512 scale_, less_;
};

// Tiles of finite scales: of digits of eight bits two shifts bring all of a word to where they are wanted. Fewer bits stand as far up as they can: at bit 7
// what is taken off would be rounded, by up to 2^-8 of a scale, and the same of all weights of a group.
template <PackedType TYPE>
HWY_INLINE void decode_bytes(const BlockPart<TYPE>& part, uint16_t* tile) {
    using Part = BlockPart<TYPE>;
#pragma GCC unroll 2
    for (int group = 0; group < Part::kGroups; ++group) {
        const CutScale scale = CutScale::of(part, group);
        const ShiftedDigits<8, 7> at7(scale);
        const ShiftedDigits<8, 15> at15(scale);
#pragma GCC unroll 8
        for (int quad = group * Part::kQuads; quad < (group + 1) * Part::kQuads; ++quad, tile += 2 * kTileDepth) {
            const __m512i words = part.digits(quad).raw;
            const __m512i left = _mm512_slli_epi32(words, 7);
            const __m512i right = _mm512_srli_epi32(words, 9);
            __m512 first, third;
            if constexpr (Part::kForm.bits == 8) {
                first = at7(left);
                third = at7(right);
            } else {
                first = at15(_mm512_slli_epi32(words, 15));
                third = at15(_mm512_srli_epi32(words, 1));
            }
            _mm512_storeu_si512(tile, cut_pairs(first, at15(left)));
            _mm512_storeu_si512(tile + kTileDepth, cut_pairs(third, at15(right)));
        }
    }
}
// Depths 0 to 3 of eight are nibbles 0, 2, 4, 6 of a word, the others those between.
template <PackedType TYPE>
HWY_INLINE void decode_nibbles(const BlockPart<TYPE>& part, uint16_t* tile) {
    static_assert(BlockPart<TYPE>::kGroups == 1);
    const CutScale scale = CutScale::of(part, 0);
    const ShiftedDigits<4, 11> at11(scale);
    const ShiftedDigits<4, 12> at12(scale);
    const ShiftedDigits<4, 15> at15(scale);
    const ShiftedDigits<4, 16> at16(scale);
    const ShiftedDigits<4, 19> at19(scale);
#pragma GCC unroll 4
    for (int row = 0; row < 4; ++row, tile += 4 * kTileDepth) {
        const __m512i words = part.word(row).raw;
        const __m512i left = _mm512_slli_epi32(words, 11);
        const __m512i right = _mm512_srli_epi32(words, 9);
        _mm512_storeu_si512(tile, cut_pairs(at11(left), at19(left)));
        _mm512_storeu_si512(tile + kTileDepth, cut_pairs(at16(words), at15(right)));
        _mm512_storeu_si512(tile + 2 * kTileDepth, cut_pairs(at15(left), at12(words)));
        _mm512_storeu_si512(tile + 3 * kTileDepth, cut_pairs(at11(right), at19(right)));
    }
}

// A tile of one plane of weights in blocks, where nothing is looked for: two depths at a time as they are decoded. `block`: of `width` columns, of which
// the tile begins at `column`; of its depths those of `part`.
template <PackedType TYPE>
HWY_NOINLINE void decode_tile(const uint8_t* block, int64_t width, int64_t column, int64_t part, uint16_t* tile) {
    static_assert(kPartDepth == kTileDepth);
    const BlockPart<TYPE> from(block, width, column, part);
    const BlockFactors factors = from.factors();
    constexpr int kNotFinite = 0x99;
    const bool finite =
        (_mm512_fpclass_ps_mask(factors.scale.raw, kNotFinite) | _mm512_fpclass_ps_mask(factors.least.raw, kNotFinite)) == 0;
    const auto by_pairs = [&](const auto& pairs_of) HWY_ATTR {
        VF low = hn::Zero(f);
        from.each([&](int64_t d, VF w) HWY_ATTR {
            if (d % 2 == 1) _mm512_storeu_si512(tile + d / 2 * kTileDepth, pairs_of(low.raw, w.raw));
            low = w;
        });
    };
    if (!finite)
        return by_pairs([](__m512 low, __m512 high) HWY_ATTR {
            return _mm512_permutexvar_epi16(order_of_pairs(), reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
        });
    if constexpr (backplane::cpu::has_indices(TYPE)) {
        by_pairs([](__m512 low, __m512 high) HWY_ATTR { return rounded_pairs(low, high); });
    } else if constexpr (block_form(TYPE).bits == 4) {
        decode_nibbles(from, tile);
    } else {
        decode_bytes(from, tile);
    }
}

using DecodeTile = decltype(&decode_tile<backplane::cpu::kPackedQ8>);

// Null: there is none.
inline DecodeTile decoder_of_tiles(PackedType type) {
    switch (type) {
        case backplane::cpu::kPackedQ8: return decode_tile<backplane::cpu::kPackedQ8>;
        case backplane::cpu::kPackedQ4: return decode_tile<backplane::cpu::kPackedQ4>;
        case backplane::cpu::kPackedQ41: return decode_tile<backplane::cpu::kPackedQ41>;
        case backplane::cpu::kPackedQ50: return decode_tile<backplane::cpu::kPackedQ50>;
        case backplane::cpu::kPackedQ51: return decode_tile<backplane::cpu::kPackedQ51>;
        case backplane::cpu::kPackedIq4: return decode_tile<backplane::cpu::kPackedIq4>;
        case backplane::cpu::kPackedIq4Xs: return decode_tile<backplane::cpu::kPackedIq4Xs>;
        case backplane::cpu::kPackedQ2K: return decode_tile<backplane::cpu::kPackedQ2K>;
        case backplane::cpu::kPackedQ3K: return decode_tile<backplane::cpu::kPackedQ3K>;
        case backplane::cpu::kPackedQ4K: return decode_tile<backplane::cpu::kPackedQ4K>;
        case backplane::cpu::kPackedQ5K: return decode_tile<backplane::cpu::kPackedQ5K>;
        case backplane::cpu::kPackedQ6K: return decode_tile<backplane::cpu::kPackedQ6K>;
        default: return nullptr;
    }
}

// Tiles of a pair of vectors of columns, of all depths, that are decoded some at a time.
struct NextTiles {
    DecodeTile decode;
    const uint8_t* block;  // of `width` columns, of which the pair begins at `column`
    int64_t block_bytes, parts, width, column;
    int64_t vectors;
    uint16_t* to;
    int64_t left;        // tiles that are not there yet
    int64_t apart = 1;   // steps of products to a tile
    int64_t vector = 0;  // of the next tile
    int64_t part = 0;    // of the block
    int64_t wait = 1;    // steps until then

    HWY_INLINE void one() {
        decode(block, width, column + vector * kLanes, part, to);
        to += kTileNumbers;
        --left;
        if (++vector < vectors) return;
        vector = 0;
        if (++part < parts) return;
        part = 0;
        block += block_bytes;
    }
    // After a step of products.
    HWY_INLINE void step() {
        if (--wait > 0) return;
        wait = apart;
        if (left > 0) one();
    }
    void rest() {
        while (left > 0) one();
    }
};

// A panel's depths from packed columns, of which `b` is the first.
template <bool EXACT>
bool pack_panel(const TilesTask& t, const uint8_t* b, int64_t depth, const PanelForm& form, uint8_t* decoded,
                uint16_t* panel) {
    if (t.type == backplane::cpu::kPackedF32)
        return pack_floats<EXACT>(reinterpret_cast<const float*>(b), depth, form, 0, panel);
    if (t.type == backplane::cpu::kPackedBF16)
        return pack_bf16<EXACT>(reinterpret_cast<const uint16_t*>(b), depth, form, 0, panel);
    if (t.type == backplane::cpu::kPackedF16)
        return pack_floats<EXACT>(reinterpret_cast<const uint16_t*>(b), depth, form, 0, panel);
    if constexpr (!EXACT)
        if (const DecodeTile tile = decoder_of_tiles(t.type); tile != nullptr) {
            const int64_t bytes = block_form(t.type).bytes() * form.width();
            const int64_t parts = block_form(t.type).depth / kTileDepth;
            for (int64_t part = 0; part < form.parts; ++part)
                for (int64_t j = 0; j < form.vectors; ++j)
                    tile(b + part / parts * bytes, form.width(), j * kLanes, part % parts, panel + form.at(j, part));
            return true;
        }
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

}  // namespace
