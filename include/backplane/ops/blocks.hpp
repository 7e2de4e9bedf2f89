// What the bytes of block types stand for, as GGUF defines them. Host and modules decode by this text.
//
// An element is scale * digit - least: the digit is a whole number of its own, scale and least are those of 16 or 32 neighbours.
// In float64 that is exact; in float32 it is rounded once, by the difference: the products have at most 24 digits.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backplane/module.h"

namespace backplane::blocks {

inline float from_half(uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
    const uint32_t exponent = h >> 10 & 0x1f;
    const uint32_t mantissa = h & 0x3ffu;
    if (exponent == 0) return std::copysign(static_cast<float>(mantissa) * 0x1p-24F, sign != 0 ? -1.0F : 1.0F);
    const uint32_t wide = exponent == 31 ? 0xffu : exponent + 112;
    return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

inline constexpr int8_t kIq4Digits[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

struct Facts {
    int elements;  // 0: no block type
    int scale;     // where its f16 factors are, in bytes; that of q8_k is an f32
    int least;     // -1: none
    int largest;   // the most that a digit and its group's part of the scale make of the factor
};
constexpr Facts facts_of(uint32_t dtype) {
    switch (dtype) {
        case BP_Q8_0: return {32, 0, -1, 128};
        case BP_Q4_0: return {32, 0, -1, 8};
        case BP_Q4_1: return {32, 0, 2, 15};
        case BP_Q5_0: return {32, 0, -1, 16};
        case BP_Q5_1: return {32, 0, 2, 31};
        case BP_Q2_K: return {256, 80, 82, 45};
        case BP_Q3_K: return {256, 108, -1, 128};
        case BP_Q4_K: return {256, 0, 2, 945};
        case BP_Q5_K: return {256, 0, 2, 1953};
        case BP_Q6_K: return {256, 208, -1, 4096};
        case BP_IQ4_NL: return {32, 0, -1, 127};
        case BP_IQ4_XS: return {256, 0, -1, 4064};
        case BP_Q8_K: return {256, 0, -1, 128};
        default: return {};
    }
}

// A block of one type. Offsets of its parts are in bytes.
template <uint32_t kType>
class Block {
public:
    explicit Block(const std::byte* bytes) : bytes_(bytes) {}

    static constexpr int kElements = facts_of(kType).elements;
    static constexpr int kGroup = 16;  // scale and least are those of so many neighbours at the least

    [[nodiscard]] int digit(int i) const {
        if constexpr (kType == BP_Q8_0) return signed_at(2 + i);
        if constexpr (kType == BP_Q4_0) return nibble(2, i) - 8;
        if constexpr (kType == BP_Q4_1) return nibble(4, i);
        if constexpr (kType == BP_Q5_0) return (nibble(6, i) | bit(2 + i / 8, i % 8) << 4) - 16;
        if constexpr (kType == BP_Q5_1) return nibble(8, i) | bit(4 + i / 8, i % 8) << 4;
        if constexpr (kType == BP_IQ4_NL) return kIq4Digits[nibble(2, i)];
        if constexpr (kType == BP_IQ4_XS) return kIq4Digits[nibble(8 + i / 32 * 16, i % 32)];
        if constexpr (kType == BP_Q8_K) return signed_at(4 + i);
        if constexpr (kType == BP_Q2_K) return crumb(16, i);
        if constexpr (kType == BP_Q3_K) return crumb(32, i) + 4 * bit(i % 32, i / 32) - 4;
        if constexpr (kType == BP_Q4_K) return pair(16, i);
        if constexpr (kType == BP_Q5_K) return pair(48, i) | bit(16 + i % 32, i / 32) << 4;
        if constexpr (kType == BP_Q6_K)
            return ((at(i / 128 * 64 + i % 64) >> i / 64 % 2 * 4 & 15) | crumb(128, i) << 4) - 32;
    }

    // What the factors are multiplied by for the neighbours from element kGroup * group on.
    [[nodiscard]] int scale_digit(int group) const {
        if constexpr (kType == BP_Q2_K) return at(group) & 15;
        if constexpr (kType == BP_Q3_K)
            return ((at(96 + group % 8) >> group / 8 * 4 & 15) | (at(104 + group % 4) >> group / 4 * 2 & 3) << 4) - 32;
        if constexpr (kType == BP_Q4_K || kType == BP_Q5_K) return six_bits(group / 2, 4);
        if constexpr (kType == BP_Q6_K) return signed_at(192 + group);
        if constexpr (kType == BP_IQ4_XS)
            return ((at(4 + group / 4) >> group / 2 % 2 * 4 & 15) | (at(2 + group / 8) >> group / 2 % 4 * 2 & 3) << 4) - 32;
        return 1;
    }
    [[nodiscard]] int least_digit(int group) const {
        if constexpr (kType == BP_Q2_K) return at(group) >> 4;
        if constexpr (kType == BP_Q4_K || kType == BP_Q5_K) return six_bits(group / 2, 8);
        return -1;
    }

    template <typename T>
    [[nodiscard]] T scale(int group) const {
        if constexpr (kType == BP_Q8_K) return static_cast<T>(single(facts_of(kType).scale));
        return half<T>(facts_of(kType).scale) * static_cast<T>(scale_digit(group));
    }
    template <typename T>
    [[nodiscard]] T least(int group) const {
        if constexpr (facts_of(kType).least < 0)
            return T{0};
        else
            return half<T>(facts_of(kType).least) * static_cast<T>(least_digit(group));
    }

    template <typename T>
    void decode(T* out) const {
        for (int group = 0; group < kElements / kGroup; ++group) {
            const T factor = scale<T>(group), below = least<T>(group);
            for (int i = group * kGroup; i < (group + 1) * kGroup; ++i) out[i] = factor * static_cast<T>(digit(i)) - below;
        }
    }

private:
    [[nodiscard]] int at(int i) const { return std::to_integer<int>(bytes_[i]); }
    [[nodiscard]] int signed_at(int i) const { return static_cast<int8_t>(bytes_[i]); }
    [[nodiscard]] int bit(int byte, int i) const { return at(byte) >> i & 1; }
    template <typename T>
    [[nodiscard]] T half(int byte) const {
        uint16_t h = 0;
        std::memcpy(&h, bytes_ + byte, sizeof h);
        return static_cast<T>(from_half(h));
    }
    [[nodiscard]] float single(int byte) const {
        float value = 0;
        std::memcpy(&value, bytes_ + byte, sizeof value);
        return value;
    }
    // Four bits: 16 bytes hold 32 elements, the low halves those of the first 16.
    [[nodiscard]] int nibble(int byte, int i) const { return at(byte + i % 16) >> i / 16 * 4 & 15; }
    // Four bits: 32 bytes hold 64 elements, the low halves those of the first 32.
    [[nodiscard]] int pair(int byte, int i) const { return at(byte + i / 64 * 32 + i % 32) >> i / 32 % 2 * 4 & 15; }
    // Two bits: 32 bytes hold 128 elements, 32 in each two bits.
    [[nodiscard]] int crumb(int byte, int i) const { return at(byte + i / 128 * 32 + i % 32) >> i / 32 % 4 * 2 & 3; }
    // Six bits, of 12 bytes from 4 on. Those of the first four groups of 32 are at 4 (scales) and 8 (leasts); the others' low
    // halves are at 12, their upper bits over those of the first.
    [[nodiscard]] int six_bits(int group, int byte) const {
        if (group < 4) return at(byte + group) & 63;
        return (at(8 + group) >> (byte == 4 ? 0 : 4) & 15) | at(byte + group - 4) >> 6 << 4;
    }

    const std::byte* bytes_;
};

template <uint32_t kType, typename T>
void decode_all(const std::byte* bytes, int64_t count, uint32_t size, T* out) {
    for (int64_t i = 0; i < count; ++i)
        Block<kType>(bytes + i * static_cast<int64_t>(size)).decode(out + i * Block<kType>::kElements);
}

// `count` blocks of `size` bytes each. Other types than those of blocks: nothing is done.
template <typename T>
void decode(uint32_t dtype, const std::byte* bytes, int64_t count, uint32_t size, T* out) {
    switch (dtype) {
        case BP_Q8_0: return decode_all<BP_Q8_0>(bytes, count, size, out);
        case BP_Q4_0: return decode_all<BP_Q4_0>(bytes, count, size, out);
        case BP_Q4_1: return decode_all<BP_Q4_1>(bytes, count, size, out);
        case BP_Q5_0: return decode_all<BP_Q5_0>(bytes, count, size, out);
        case BP_Q5_1: return decode_all<BP_Q5_1>(bytes, count, size, out);
        case BP_Q2_K: return decode_all<BP_Q2_K>(bytes, count, size, out);
        case BP_Q3_K: return decode_all<BP_Q3_K>(bytes, count, size, out);
        case BP_Q4_K: return decode_all<BP_Q4_K>(bytes, count, size, out);
        case BP_Q5_K: return decode_all<BP_Q5_K>(bytes, count, size, out);
        case BP_Q6_K: return decode_all<BP_Q6_K>(bytes, count, size, out);
        case BP_IQ4_NL: return decode_all<BP_IQ4_NL>(bytes, count, size, out);
        case BP_IQ4_XS: return decode_all<BP_IQ4_XS>(bytes, count, size, out);
        case BP_Q8_K: return decode_all<BP_Q8_K>(bytes, count, size, out);
        default: return;
    }
}

}  // namespace backplane::blocks
