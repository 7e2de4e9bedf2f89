// Weights in blocks (BlockForm), multiplied as whole numbers.
#pragma once

#include "kernels/block_parts.h"

// Products of bytes, four to a sum: x86 has them from SSSE3 on, and with vectors of 32 bytes they are faster than decoding to floats.
#define BP_BYTE_PRODUCTS (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
// The same by one instruction, of unsigned bytes of weights.
#if HWY_TARGET == HWY_AVX3 && defined(__AVX512VNNI__)
#define BP_ADD_FOUR_PRODUCTS _mm512_dpbusd_epi32
#elif HWY_TARGET == HWY_AVX2 && defined(__AVXVNNI__)
#define BP_ADD_FOUR_PRODUCTS _mm256_dpbusd_avx_epi32
#endif

namespace {

using backplane::cpu::FixedPoint;

// Whether weights may have eight bits in such products: where two of them are summed in 16, they would not fit.
#if defined(BP_ADD_FOUR_PRODUCTS) || HWY_ARCH_ARM
constexpr bool kMultipliesBytes = true;
#else
constexpr bool kMultipliesBytes = false;
#endif

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
