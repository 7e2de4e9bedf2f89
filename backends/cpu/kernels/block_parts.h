// Weights in blocks (BlockForm), decoded in registers.
#pragma once

#include "kernels/matmul.h"
#include "kernels/simd.h"

namespace {

using backplane::cpu::block_form;
using backplane::cpu::BlockForm;
using backplane::cpu::PackedType;

using VI = hn::Vec<I>;

constexpr int64_t kPartDepth = 32;

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

    // A word of each column, as they are packed.
    [[nodiscard]] HWY_INLINE VI word(int row) const {
        return hn::LoadU(I(), reinterpret_cast<const int32_t*>(digits_ + 4 * row * width_));
    }

private:
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

}  // namespace
