// Products of many rows by weights in blocks, where activations may be rounded to bytes (BP_MATH_RELAXED): whole numbers, four products to an
// instruction or to two, scaled after each 32 depths or each group.
#pragma once

#include "kernels/block_weights.h"
#include "kernels/tile.h"

// BP_SIGNED_DIGITS: the instruction takes the weights' bytes as signed, as it does the activations'; otherwise as unsigned.
#ifdef BP_ADD_FOUR_PRODUCTS
#define BP_ROUNDED_PRODUCTS 1
#define BP_SIGNED_DIGITS 0
#elif HWY_TARGET == HWY_NEON && defined(__ARM_FEATURE_DOTPROD)
#define BP_ROUNDED_PRODUCTS 1
#define BP_SIGNED_DIGITS 1
#define BP_ADD_FOUR_PRODUCTS(sums, w, x) vdotq_s32(sums, vreinterpretq_s8_s32(w), vreinterpretq_s8_s32(x))
#elif BP_BYTE_PRODUCTS
#define BP_ROUNDED_PRODUCTS 1
#define BP_SIGNED_DIGITS 0
#else
#define BP_ROUNDED_PRODUCTS 0
#endif

#if BP_ROUNDED_PRODUCTS

namespace {

using backplane::cpu::MatMulTask;
using backplane::cpu::RoundedPart;

// How a type's digits stand in a panel: bytes, scale * (digit - kMiddle) - least.
template <PackedType TYPE>
struct ByteForm {
    static constexpr BlockForm kForm = block_form(TYPE);
    static constexpr int kGroups = kForm.groups();
    static constexpr bool kLeasts = kForm.leasts;
    // Of all bits, which are signed or not: those of iq4_nl's values are, q8_0's begin at 128.
    static constexpr bool kIndices = backplane::cpu::has_indices(TYPE);
    static constexpr bool kBytes = kIndices || kForm.bits == 8;
    static constexpr bool kMoves = kBytes && kIndices != (BP_SIGNED_DIGITS != 0);
    static constexpr int kMiddle = !kBytes ? kForm.middle : BP_SIGNED_DIGITS ? 0 : 128;
    static constexpr int kQuads = 8 / kGroups;  // of a group
    // Of a part, 32 depths of a panel: scales of each group, leasts of each, digits of four depths a word; a row of each has all columns.
    static constexpr int kScaleRows = kGroups * (kLeasts ? 2 : 1);
    static constexpr int kRows = kScaleRows + 8;
};

// Signed bytes that begin at 0 instead of -128, or back.
HWY_INLINE VI moved_bytes(VI words) { return hn::Xor(words, hn::Set(I(), static_cast<int32_t>(0x80808080))); }

// A vector of columns of 32 depths.
template <PackedType TYPE>
HWY_INLINE void byte_part(const uint8_t* block, int64_t width, int64_t column, int64_t part, float* out) {
    using Form = ByteForm<TYPE>;
    const auto words = [&](int quad, VI four) HWY_ATTR {
        float* at = out + (Form::kScaleRows + quad) * width + column;
        hn::StoreU(Form::kMoves ? moved_bytes(four) : four, I(), reinterpret_cast<int32_t*>(at));
    };
    const BlockPart<TYPE> from(block, width, column, part);
    for (int g = 0; g < Form::kGroups; ++g) {
        hn::StoreU(from.scale(g), f, out + g * width + column);
        if constexpr (Form::kLeasts) hn::StoreU(from.least(g), f, out + (Form::kGroups + g) * width + column);
    }
#pragma GCC unroll 8
    for (int quad = 0; quad < 8; ++quad) {
        const VI digits = from.digits(quad);
        words(quad, Form::kIndices ? BlockPart<TYPE>::iq4_values(digits) : digits);
    }
}

// `depth` rows of a block of columns as bytes; what follows them is returned.
template <PackedType TYPE>
HWY_NOINLINE const uint8_t* decode_bytes(const uint8_t* b, int64_t vectors, int64_t depth, float* out) {
    using Form = ByteForm<TYPE>;
    constexpr int64_t kBlockDepth = Form::kForm.depth;
    constexpr int64_t kBlockBytes = Form::kForm.bytes();
    const int64_t width = vectors * kLanes;
    for (int64_t k = 0; k < depth; k += kPartDepth, out += Form::kRows * width)
        for (int64_t j = 0; j < vectors; ++j) {
            // Not known to the compiler: of addresses that go 1, 2 and 4 times as far as it g++ 12 makes one (-fivopts) by which it takes the
            // function for one that writes nothing, and leaves out its calls.
            int64_t column = j * kLanes;
            __asm__("" : "+r"(column));
            byte_part<TYPE>(b + k / kBlockDepth * kBlockBytes * width, width, column, k % kBlockDepth / kPartDepth, out);
        }
    return b + depth / kBlockDepth * kBlockBytes * width;
}

// The four activations of a quad, in each column.
HWY_INLINE VI four_of(const RoundedPart& x, int quad) {
    int32_t four;
    memcpy(&four, x.values + 4 * quad, sizeof four);
    return hn::Set(I(), four);
}

// What products of 32 depths are beside their digits: types that are alike in it share the kernels.
struct SumForm {
    int groups;
    bool leasts;
    int run;  // quads whose sums of two products fit 16 bits, of a group; 0: four products are an instruction
};

template <PackedType TYPE>
constexpr SumForm sum_form() {
    using Form = ByteForm<TYPE>;
#ifdef BP_ADD_FOUR_PRODUCTS
    return {Form::kGroups, Form::kLeasts, 0};
#else
    constexpr int kFit = 32767 / (2 * 127 * ((1 << Form::kForm.bits) - 1));
    return {Form::kGroups, Form::kLeasts, HWY_MIN(kFit, Form::kQuads)};
#endif
}

// 32 depths of a panel, as decode_bytes() writes it.
template <SumForm FORM, int VECTORS>
struct PanelPart {
    static constexpr int64_t kWidth = VECTORS * kLanes;
    static constexpr int kScaleRows = FORM.groups * (FORM.leasts ? 2 : 1);
    static constexpr int64_t kFloats = (kScaleRows + 8) * kWidth;
    const float* at;

    [[nodiscard]] HWY_INLINE VI word(int quad, int j) const {
        return hn::LoadU(I(), reinterpret_cast<const int32_t*>(at) + (kScaleRows + quad) * kWidth + j * kLanes);
    }
    [[nodiscard]] HWY_INLINE VF scale(int g, int j) const { return hn::LoadU(f, at + g * kWidth + j * kLanes); }
    [[nodiscard]] HWY_INLINE VF least(int g, int j) const {
        return hn::LoadU(f, at + (FORM.groups + g) * kWidth + j * kLanes);
    }
};

// The same of packed weights, decoded in registers.
template <PackedType TYPE, int VECTORS>
struct PackedPart {
    BlockPart<TYPE> parts[VECTORS];

    [[nodiscard]] HWY_INLINE VI word(int quad, int j) const {
        using Form = ByteForm<TYPE>;
        VI digits = parts[j].digits(quad);
        if constexpr (Form::kIndices) digits = BlockPart<TYPE>::iq4_values(digits);
        return Form::kMoves ? moved_bytes(digits) : digits;
    }
    [[nodiscard]] HWY_INLINE VF scale(int g, int j) const { return parts[j].scale(g); }
    [[nodiscard]] HWY_INLINE VF least(int g, int j) const { return parts[j].least(g); }
};

// Products of a group, summed: the digits of `from` by each row's activations.
template <SumForm FORM, int ROWS, int VECTORS, class Weights>
HWY_INLINE void sum_group(const RoundedPart* const (&x)[ROWS], int64_t part, int g, const Weights& from,
                          VI (&sums)[ROWS][VECTORS]) {
    constexpr int kQuads = 8 / FORM.groups;
    const auto each_row = [&](int quad, const auto& with) HWY_ATTR {
        VI w[VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) w[j] = from.word(quad, j);
#pragma GCC unroll 12
        for (int i = 0; i < ROWS; ++i) {
            const VI a = four_of(x[i][part], quad);
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; ++j) with(i, j, w[j], a);
        }
    };
    const int first = g * kQuads;
#ifdef BP_ADD_FOUR_PRODUCTS
#pragma GCC unroll 12
    for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) sums[i][j] = hn::Set(I(), x[i][part].less[g]);
#pragma GCC unroll 8
    for (int quad = first; quad < first + kQuads; ++quad)
        each_row(quad, [&](int i, int j, VI w, VI a)
                           HWY_ATTR { sums[i][j] = VI{BP_ADD_FOUR_PRODUCTS(sums[i][j].raw, w.raw, a.raw)}; });
#else
#pragma GCC unroll 4
    for (int begin = first; begin < first + kQuads; begin += FORM.run) {
        VI run[ROWS][VECTORS];
#pragma GCC unroll 8
        for (int quad = begin; quad < begin + FORM.run; ++quad)
            each_row(quad, [&](int i, int j, VI w, VI a) HWY_ATTR {
                const VI products{BP_BYTES_OP(maddubs_epi16)(w.raw, a.raw)};
                run[i][j] = quad == begin ? products : VI{BP_BYTES_OP(add_epi16)(run[i][j].raw, products.raw)};
            });
#pragma GCC unroll 12
        for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; ++j) {
                const VI wide{BP_BYTES_OP(madd_epi16)(run[i][j].raw, BP_BYTES_OP(set1_epi16)(1))};
                const bool none = begin == first && FORM.leasts;
                sums[i][j] = none ? wide : hn::Add(begin == first ? hn::Set(I(), x[i][part].less[g]) : sums[i][j], wide);
            }
    }
#endif
}

// Adds the products of 32 depths.
template <SumForm FORM, int ROWS, int VECTORS, class Weights>
HWY_INLINE void add_part(Tile<ROWS, VECTORS>& total, const RoundedPart* const (&x)[ROWS], int64_t part,
                         const Weights& from) {
#pragma GCC unroll 2
    for (int g = 0; g < FORM.groups; ++g) {
        VI sums[ROWS][VECTORS];
        sum_group<FORM>(x, part, g, from, sums);
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) {
            const VF scale = from.scale(g, j);
#pragma GCC unroll 12
            for (int i = 0; i < ROWS; ++i) {
                VF& to = total.v[i][j];
                to = hn::MulAdd(hn::Mul(hn::ConvertTo(f, sums[i][j]), scale), hn::Set(f, x[i][part].step), to);
                if constexpr (FORM.leasts) to = hn::NegMulAdd(from.least(g, j), hn::Set(f, x[i][part].sums[g]), to);
            }
        }
    }
}

template <SumForm FORM, int VECTORS>
HWY_NOINLINE void rounded_panel(const MatMulTask& t, int64_t row_begin, int64_t row_end, int64_t column, const float* panel,
                                int64_t k_begin, int64_t k_end) {
    // With a sum of whole numbers and one of floats for each element, and the weights: 29 registers at most, or 15.
    constexpr int ROWS = (kVectors == 4 ? 12 : 6) / VECTORS;
    const int64_t columns = HWY_MIN(kBlock, t.columns - column);
    for (int64_t r = row_begin; r < row_end; r += ROWS) {
        const int64_t valid = HWY_MIN(static_cast<int64_t>(ROWS), row_end - r);
        const RoundedPart* x[ROWS];
        int64_t rows[ROWS];
        for (int i = 0; i < ROWS; ++i) {
            rows[i] = r + HWY_MIN(static_cast<int64_t>(i), valid - 1);
            x[i] = t.rounded + (rows[i] * t.depth + k_begin) / kPartDepth;
        }
        Tile<ROWS, VECTORS> tile;
        clear(tile);
        if (k_begin != 0)
            each(tile, [&](VF, int i, int j) HWY_ATTR {
                return load_first(t.out + rows[i] * t.out_row + column + j * kLanes, columns - j * kLanes);
            });
        PanelPart<FORM, VECTORS> from{panel};
        for (int64_t part = 0; part < (k_end - k_begin) / kPartDepth; ++part, from.at += from.kFloats)
            add_part<FORM>(tile, x, part, from);
        if (k_end == t.depth) finish_copy(tile, t.epilogue, rows, column, columns);
        store_rows(tile, valid, columns, t.out + r * t.out_row + column, t.out_row);
    }
}

template <SumForm FORM>
void rounded_panel_of(int64_t vectors, const MatMulTask& t, int64_t row_begin, int64_t row_end, int64_t column,
                      const float* panel, int64_t k_begin, int64_t k_end) {
    switch (vectors) {
        case 1: return rounded_panel<FORM, 1>(t, row_begin, row_end, column, panel, k_begin, k_end);
        case 2: return rounded_panel<FORM, 2>(t, row_begin, row_end, column, panel, k_begin, k_end);
#if HWY_TARGET != HWY_AVX2
        case 3: return rounded_panel<FORM, 3>(t, row_begin, row_end, column, panel, k_begin, k_end);
        default: return rounded_panel<FORM, 4>(t, row_begin, row_end, column, panel, k_begin, k_end);
#endif
    }
}

void round_activations(PackedType type, const float* from, int64_t n, RoundedPart* into) {
    const BlockForm form = block_form(type);
    const bool bytes = backplane::cpu::has_indices(type) || form.bits == 8;
    const int middle = form.leasts ? 0 : !bytes ? form.middle : BP_SIGNED_DIGITS ? 0 : 128;
    const hn::Rebind<int8_t, F> int8;
    constexpr int kParts = kPartDepth / kLanes;
    for (; n > 0; --n, from += kPartDepth, ++into) {
        VF x[kParts];
        // Compared as whole numbers, infinities and what is not a number are the largest.
        VI magnitude = hn::Zero(I());
        for (int v = 0; v < kParts; ++v) {
            x[v] = hn::LoadU(f, from + v * kLanes);
            magnitude = hn::Max(magnitude, hn::BitCast(I(), hn::Abs(x[v])));
        }
        const float largest = hn::GetLane(hn::BitCast(f, hn::MaxOfLanes(I(), magnitude)));
        const bool finite = largest <= 3.4028234e38F;
        const bool tiny = largest < 0x1p-100F;  // its inverse would be none
        into->step = finite ? (tiny ? 0 : largest / 127) : __builtin_nanf("");
        const VF inverse = hn::Set(f, finite && !tiny ? 127 / largest : 0);
        int32_t sums[2] = {0, 0};
        for (int v = 0; v < kParts; ++v) {
            const VI whole = finite ? hn::NearestInt(hn::Mul(x[v], inverse)) : hn::Zero(I());
            hn::StoreU(hn::DemoteTo(int8, whole), int8, into->values + v * kLanes);
            sums[v * kLanes / 16] += hn::GetLane(hn::SumOfLanes(I(), whole));
        }
        if (form.group != 16) sums[0] += sums[1];
        for (int g = 0; g < 2; ++g) {
            into->less[g] = -middle * sums[g];
            into->sums[g] = into->step * static_cast<float>(sums[g]);
        }
    }
}

}  // namespace

#endif  // BP_ROUNDED_PRODUCTS
