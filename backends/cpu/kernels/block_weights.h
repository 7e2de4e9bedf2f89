// Weights in blocks (BlockForm): decoded to floats, and multiplied as whole numbers.
#pragma once

#include "kernels/matmul.h"
#include "kernels/simd.h"

// Products of bytes, four to a sum: x86 has them from SSSE3 on, and with vectors of 32 bytes they are faster than decoding to floats.
#define BP_BYTE_PRODUCTS (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
// The same by one instruction, of unsigned bytes of weights.
#if HWY_TARGET == HWY_AVX3 && defined(__AVX512VNNI__)
#define BP_ADD_FOUR_PRODUCTS _mm512_dpbusd_epi32
#elif HWY_TARGET == HWY_AVX2 && defined(__AVXVNNI__)
#define BP_ADD_FOUR_PRODUCTS _mm256_dpbusd_avx_epi32
#endif

namespace {

using backplane::cpu::block_form;
using backplane::cpu::BlockForm;
using backplane::cpu::FixedPoint;
using backplane::cpu::PackedType;

using VI = hn::Vec<I>;

constexpr int64_t kPartDepth = 32;

// Whether weights may have eight bits in such products: where two of them are summed in 16, they would not fit.
#if defined(BP_ADD_FOUR_PRODUCTS) || HWY_ARCH_ARM
constexpr bool kMultipliesBytes = true;
#else
constexpr bool kMultipliesBytes = false;
#endif

template <typename T>
struct Iq4 {
    alignas(64) static constexpr T kValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
};

// The factors of a block of one vector of columns, as floats.
struct BlockFactors {
    VF scale, least;
};

// 32 depths of one vector of columns.
template <PackedType TYPE>
class BlockPart {
public:
    static constexpr BlockForm kForm = block_form(TYPE);
    static constexpr int kGroups = kForm.groups();
    static constexpr int kQuads = 8 / kGroups;  // fours of depths in a group

    // `block`: of `width` columns, of which the vector begins at `column`; part: 32 depths of it. `factors`: where they are known already.
    HWY_INLINE BlockPart(const uint8_t* block, int64_t width, int64_t column, int64_t part,
                         const BlockFactors* factors = nullptr)
        : known_(factors), width_(width) {
        factors_ = block + 2 * column;
        groups_ = block + (kForm.factor_bytes() + part * kForm.part_bytes()) * width + column;
        digits_ = groups_ + kForm.digits_at() * width + 3 * column;
    }

    [[nodiscard]] HWY_INLINE BlockFactors factors() const {
        const VF scale = from_half(factors_);
        if constexpr (!kForm.leasts) return {scale, scale};
        return {scale, from_half(factors_ + 2 * width_)};
    }
    [[nodiscard]] HWY_INLINE VF scale(int group) const {
        const VF factor = known_ != nullptr ? known_->scale : from_half(factors_);
        if constexpr (kForm.group == 0) return factor;
        if constexpr (kForm.paired) return hn::Mul(factor, hn::ConvertTo(f, hn::And(pair(group), hn::Set(I(), 15))));
        return hn::Mul(factor, from_int8(groups_ + group * kForm.group_rows() * width_));
    }
    // Of types that have leasts.
    [[nodiscard]] HWY_INLINE VF least(int group) const {
        const VF factor = known_ != nullptr ? known_->least : from_half(factors_ + 2 * width_);
        if constexpr (kForm.group == 0) return factor;
        if constexpr (kForm.paired) return hn::Mul(factor, hn::ConvertTo(f, hn::ShiftRight<4>(pair(group))));
        return hn::Mul(factor, from_int8(groups_ + (group * kForm.group_rows() + 1) * width_));
    }

    // The digits of depths 4 * quad to 4 * quad + 3, a byte each.
    [[nodiscard]] HWY_INLINE VI digits(int quad) const {
        constexpr int kLow = kForm.lower_bits();
        constexpr int kHigh = kForm.bits - kLow;
        if constexpr (kLow == 8) return word(quad);
        VI low = bits_at<kLow, 0>(word(quad * kLow / 8), quad * kLow % 8);
        if constexpr (kHigh == 0) return low;
        return hn::Or(low, bits_at<kHigh, kLow>(word(kLow + quad * kHigh / 8), quad * kHigh % 8));
    }

    // One weight of each column.
    // What digits are multiplied by: those of eight bits come 2^24 times as large.
    [[nodiscard]] HWY_INLINE VF digit_scale(int group) const {
        if constexpr (kForm.bits == 8) return hn::Mul(scale(group), hn::Set(f, 0x1p-24F));
        return scale(group);
    }
    // `scale` and `below` are digit_scale() and below() of it.
    [[nodiscard]] HWY_INLINE VF weight(VI quad_digits, int of_quad, VF scale, VF below) const {
        if constexpr (backplane::cpu::has_indices(TYPE)) {
            const VI value = hn::ShiftRight<24>(hn::ShiftLeftSame(iq4_values(quad_digits), 24 - 8 * of_quad));
            return hn::Mul(hn::ConvertTo(f, value), scale);
        }
        if constexpr (kForm.bits == 8) return hn::Mul(hn::ConvertTo(f, signed_upper(quad_digits, of_quad)), scale);
        const VI digit = hn::And(hn::ShiftRightSame(quad_digits, 8 * of_quad), hn::Set(I(), 255));
        return hn::MulSub(hn::ConvertTo(f, digit), scale, below);
    }
    // What is subtracted from scale * digit: the product with the middle needs no more than 24 bits.
    [[nodiscard]] HWY_INLINE VF below(int group, VF scale) const {
        if constexpr (kForm.leasts) return least(group);
        return hn::Mul(scale, hn::Set(f, kForm.middle));
    }

    // use(depth, weights) for all 32.
    template <typename Use>
    HWY_INLINE void each(const Use& use) const {
#pragma GCC unroll 2
        for (int g = 0; g < kGroups; ++g) {
            const VF factor = digit_scale(g);
            const VF less = below(g, factor);
#pragma GCC unroll 8
            for (int quad = g * kQuads; quad < (g + 1) * kQuads; ++quad) {
#if HWY_TARGET == HWY_AVX3
                // The permutation looks at the low four bits of an index only.
                if constexpr (kForm.bits == 4) {
                    const bool indices = backplane::cpu::has_indices(TYPE);
                    const VF values = indices ? hn::Load(f, Iq4<float>::kValues) : hn::Iota(f, 0);
                    const VI pairs = word(quad / 2);
#pragma GCC unroll 4
                    for (int i = 0; i < 4; ++i) {
                        const VI index = hn::ShiftRightSame(pairs, 8 * i + quad % 2 * 4);
                        const VF digit{_mm512_permutexvar_ps(index.raw, values.raw)};
                        use(4 * quad + i, indices ? hn::Mul(digit, factor) : hn::MulSub(digit, factor, less));
                    }
                    continue;
                }
#endif
                const VI four = digits(quad);
#pragma GCC unroll 4
                for (int i = 0; i < 4; ++i) use(4 * quad + i, weight(four, i, factor, less));
            }
        }
    }

    // 2^24 times a digit of eight bits less its middle.
    static HWY_INLINE VI signed_upper(VI quad_digits, int of_quad) {
        const VI bytes = hn::Xor(quad_digits, hn::Set(I(), static_cast<int32_t>(0x80808080)));
#if HWY_TARGET == HWY_SCALAR
        return hn::ShiftLeftSame(hn::ShiftRightSame(bytes, 8 * of_quad), 24);
#else
        // From 0x80 on an index gives zero.
        alignas(16) constexpr uint8_t kUpper[4][16] = {
            {128, 128, 128, 0, 128, 128, 128, 4, 128, 128, 128, 8, 128, 128, 128, 12},
            {128, 128, 128, 1, 128, 128, 128, 5, 128, 128, 128, 9, 128, 128, 128, 13},
            {128, 128, 128, 2, 128, 128, 128, 6, 128, 128, 128, 10, 128, 128, 128, 14},
            {128, 128, 128, 3, 128, 128, 128, 7, 128, 128, 128, 11, 128, 128, 128, 15}};
        const hn::Repartition<uint8_t, I> d;
        return hn::BitCast(I(), hn::TableLookupBytesOr0(hn::BitCast(d, bytes), hn::LoadDup128(d, kUpper[of_quad])));
#endif
    }

    static HWY_INLINE VI iq4_values(VI indices) {
#if HWY_TARGET == HWY_SCALAR  // one column, and no tables
        uint32_t values = 0;
        for (int i = 0; i < 32; i += 8)
            values |= static_cast<uint32_t>(static_cast<uint8_t>(Iq4<int8_t>::kValues[hn::GetLane(indices) >> i & 15])) << i;
        return hn::Set(I(), static_cast<int32_t>(values));
#else
        const hn::Repartition<int8_t, I> bytes;
        return hn::BitCast(I(),
                           hn::TableLookupBytes(hn::LoadDup128(bytes, Iq4<int8_t>::kValues), hn::BitCast(bytes, indices)));
#endif
    }

private:
    [[nodiscard]] HWY_INLINE VI word(int row) const {
        return hn::LoadU(I(), reinterpret_cast<const int32_t*>(digits_ + 4 * row * width_));
    }
    [[nodiscard]] HWY_INLINE VI pair(int group) const {
        return hn::PromoteTo(I(), hn::LoadU(hn::Rebind<uint8_t, F>(), groups_ + group * width_));
    }
    // BITS of each byte from bit `at` on, moved to bit TO.
    template <int BITS, int TO>
    static HWY_INLINE VI bits_at(VI bytes, int at) {
        constexpr auto kMask = static_cast<int32_t>(((1U << BITS) - 1) * (1U << TO) * 0x01010101U);
        const VI there = at >= TO ? hn::ShiftRightSame(bytes, at - TO) : hn::ShiftLeftSame(bytes, TO - at);
        return hn::And(there, hn::Set(I(), kMask));
    }

    const BlockFactors* known_;
    const uint8_t* factors_;
    const uint8_t* groups_;
    const uint8_t* digits_;
    int64_t width_;
};

#if BP_BYTE_PRODUCTS

#if HWY_TARGET == HWY_AVX3
#define BP_BYTES_OP(name) _mm512_##name
#else
#define BP_BYTES_OP(name) _mm256_##name
#endif

// sums[digit][vector] of one group: the products of the weights' digits, less the middle, with those of the activations.
template <PackedType TYPE, int VECTORS>
HWY_INLINE void sum_digits(const BlockPart<TYPE> (&parts)[VECTORS], int group, const FixedPoint& x, VI (&sums)[4][VECTORS]) {
    using Part = BlockPart<TYPE>;
    const int first = group * Part::kQuads;
    const auto activations = [&](int quad, int digit) HWY_ATTR {
        int32_t four;
        memcpy(&four, x.digits[quad][digit], sizeof four);
        return hn::Set(I(), four);
    };
    const VI first_of[2] = {hn::Set(I(), x.less_low[group]), hn::Set(I(), x.less_high[group])};
#pragma GCC unroll 4
    for (int d = 0; d < 4; ++d)
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) sums[d][j] = Part::kForm.leasts || d % 2 == 1 ? hn::Zero(I()) : first_of[d / 2];
#ifdef BP_ADD_FOUR_PRODUCTS
#pragma GCC unroll 8
    for (int quad = first; quad < first + Part::kQuads; ++quad) {
        VI w[VECTORS];
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) w[j] = parts[j].digits(quad);
#pragma GCC unroll 4
        for (int d = 0; d < 4; ++d) {
            const VI a = activations(quad, d);
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; ++j) sums[d][j] = VI{BP_ADD_FOUR_PRODUCTS(sums[d][j].raw, w[j].raw, a.raw)};
        }
    }
#else
    // So many quads' sums of two products fit 16 bits.
    static_assert(Part::kForm.bits < 8);
    constexpr int kFit = 32767 / (256 * ((1 << Part::kForm.bits) - 1));
    constexpr int kRun = HWY_MIN(kFit, Part::kQuads);
#pragma GCC unroll 4
    for (int begin = first; begin < first + Part::kQuads; begin += kRun) {
        VI run[4][VECTORS];
#pragma GCC unroll 8
        for (int quad = begin; quad < begin + kRun; ++quad) {
            VI w[VECTORS];
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; ++j) w[j] = parts[j].digits(quad);
#pragma GCC unroll 4
            for (int d = 0; d < 4; ++d) {
                const VI a = activations(quad, d);
#pragma GCC unroll 4
                for (int j = 0; j < VECTORS; ++j) {
                    const VI products{BP_BYTES_OP(maddubs_epi16)(w[j].raw, a.raw)};
                    run[d][j] = quad == begin ? products : VI{BP_BYTES_OP(add_epi16)(run[d][j].raw, products.raw)};
                }
            }
        }
#pragma GCC unroll 4
        for (int d = 0; d < 4; ++d)
#pragma GCC unroll 4
            for (int j = 0; j < VECTORS; ++j) {
                const VI wide{BP_BYTES_OP(madd_epi16)(run[d][j].raw, BP_BYTES_OP(set1_epi16)(1))};
                sums[d][j] = hn::Add(sums[d][j], wide);
            }
    }
#endif
}

// Adds the products of 32 depths to sums of columns.
template <PackedType TYPE, int VECTORS>
HWY_INLINE void add_products(const BlockPart<TYPE> (&parts)[VECTORS], const FixedPoint& x, VF* total) {
    using Part = BlockPart<TYPE>;
    const VF step = hn::Set(f, x.step_high);
#pragma GCC unroll 2
    for (int g = 0; g < Part::kGroups; ++g) {
        VI sums[4][VECTORS];
        sum_digits(parts, g, x, sums);
        const VF high_sum = hn::Set(f, x.high[g]);
        const VF low_sum = hn::Set(f, x.low[g]);
        const VF low_unit = hn::Set(f, 0x1p-16F);
#pragma GCC unroll 4
        for (int j = 0; j < VECTORS; ++j) {
            // Both exact as floats, but for weights of eight bits: whole numbers up to 2^24, and the lower ones' last bits are nothing.
            const VI high_whole = hn::Add(hn::ShiftLeft<8>(sums[3][j]), sums[2][j]);
            const VI low_whole = hn::Add(hn::ShiftLeft<8>(sums[1][j]), sums[0][j]);
            const VF scale = parts[j].scale(g);
            const VF high = hn::ConvertTo(f, high_whole);
            const VF low = hn::ConvertTo(f, low_whole);
            if constexpr (Part::kForm.leasts) {
                // Weights near 0 leave little of a large difference: what the lesser of its products loses is counted, the other loses
                // nothing before the difference is rounded.
                const VF least = parts[j].least(g);
                const VF under = hn::Mul(least, high_sum);
                const VF lost = hn::NegMulAdd(least, high_sum, under);
                const VF lower = hn::MulAdd(scale, hn::Mul(low, low_unit), hn::NegMulAdd(least, low_sum, lost));
                total[j] = hn::MulAdd(hn::Add(hn::MulSub(scale, high, under), lower), step, total[j]);
            } else {
                const VF digits = hn::MulAdd(low, low_unit, high);
                total[j] = hn::MulAdd(hn::Mul(digits, scale), step, total[j]);
            }
        }
    }
}

// What activations have lost, by the weights as floats.
template <PackedType TYPE>
HWY_NOINLINE void add_inexact(const uint8_t* block, int64_t width, int64_t part, const float* from, const FixedPoint& x,
                              VF* total) {
    for (uint32_t rest = x.inexact; rest != 0; rest &= rest - 1) {
        const int i = __builtin_ctz(rest);
        int32_t whole = 0;
        for (int d = 4; d-- > 0;) whole = whole * 256 + x.digits[i / 4][d][i % 4];
        const VF lost = hn::Set(f, from[i] - static_cast<float>(whole) * x.step);
        for (int64_t j = 0; j * kLanes < width; ++j) {
            const BlockPart<TYPE> at(block, width, j * kLanes, part);
            const int group = i / 4 / BlockPart<TYPE>::kQuads;
            const VF scale = at.digit_scale(group);
            total[j] = hn::MulAdd(at.weight(at.digits(i / 4), i % 4, scale, at.below(group, scale)), lost, total[j]);
        }
    }
}

// Of each four words: the first bytes, the second ones, and so on.
HWY_INLINE VI turn_fours(VI words) {
    const hn::Repartition<uint8_t, I> bytes;
    alignas(16) constexpr uint8_t kOrder[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    return hn::BitCast(I(), hn::TableLookupBytes(hn::BitCast(bytes, words), hn::LoadDup128(bytes, kOrder)));
}

void to_fixed_point(PackedType type, const float* from, int64_t n, FixedPoint* into) {
    constexpr int kVectorsOfPart = kPartDepth / kLanes;
    constexpr int kMostBits = 30;
    const BlockForm form = block_form(type);
    for (; n > 0; --n, from += kPartDepth, ++into) {
        VI largest = hn::Zero(I());
        for (int v = 0; v < kVectorsOfPart; ++v)
            largest = hn::Max(largest, hn::BitCast(I(), hn::Abs(hn::LoadU(f, from + v * kLanes))));
        const int exponent = hn::GetLane(hn::MaxOfLanes(I(), largest)) >> 23;
        if (exponent == 255) {  // infinities and what is not a number: all 32 are left to floats
            memset(into, 0, sizeof *into);
            into->inexact = ~0U;
            continue;
        }
        const int step = HWY_MAX(exponent - (kMostBits - 1), 1);
        const VF steps = hn::BitCast(f, hn::Set(I(), step << 23));
        const VF inverse = hn::BitCast(f, hn::Set(I(), (254 - step) << 23));
        into->step = hn::GetLane(steps);
        into->step_high = into->step * 0x1p16F;
        into->inexact = 0;
        int32_t high[2] = {}, low[2] = {};
        for (int v = 0; v < kVectorsOfPart; ++v) {
            const VF x = hn::LoadU(f, from + v * kLanes);
            const VI whole = hn::NearestInt(hn::Mul(x, inverse));
            // Exact: of more than 24 bits only numbers without a fraction are left.
            const VF lost = hn::NegMulAdd(hn::ConvertTo(f, whole), steps, x);
            const auto much = hn::Gt(hn::Mul(hn::Abs(lost), hn::Set(f, 0x1p21F)), hn::Abs(x));
            uint8_t bits[8] = {};
            hn::StoreMaskBits(f, much, bits);
            into->inexact |= static_cast<uint32_t>(bits[0] | bits[1] << 8) << v * kLanes;
            // Digits from -128 to 127: those of the number with 128 more in each but the upper one, less that.
            const VI half = hn::Set(I(), 0x00808080);
            const VI digits = hn::Xor(hn::Add(whole, half), half);
            hn::StoreU(turn_fours(digits), I(), reinterpret_cast<int32_t*>(&into->digits[v * kLanes / 4][0][0]));
            const VI lower_half = hn::Set(I(), 0x8080);
            const VI upper = hn::ShiftRight<16>(hn::Add(whole, lower_half));
            const VI lower = hn::Sub(whole, hn::ShiftLeft<16>(upper));
            const int group = form.group == 16 ? static_cast<int>(v * kLanes / 16) : 0;
            high[group] += hn::GetLane(hn::SumOfLanes(I(), upper));
            low[group] += hn::GetLane(hn::SumOfLanes(I(), lower));
        }
        for (int g = 0; g < 2; ++g) {
            into->high[g] = static_cast<float>(high[g]);
            into->low[g] = static_cast<float>(low[g]) * 0x1p-16F;
            into->less_high[g] = -high[g] * form.middle;
            into->less_low[g] = -low[g] * form.middle;
        }
    }
}

#endif  // BP_BYTE_PRODUCTS

}  // namespace
