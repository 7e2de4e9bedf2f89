#version 450
#define BYTE
#define SHORT
#include "common.glsl"
PARAMETERS(Cast)
// Conversion between any two element types. Parameters: elements. Operands are bound three times, as bytes, shorts and words;
// base counts bytes. WIDE: with 64-bit types.
#if defined(WIDE)
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#endif
layout(constant_id = 1) const uint FROM = 1;  // BP_F32 ...
layout(constant_id = 2) const uint TO = 1;
layout(set = 0, binding = 1, std430) readonly buffer In1 { uint8_t x1[]; };
layout(set = 0, binding = 2, std430) readonly buffer In2 { uint16_t x2[]; };
layout(set = 0, binding = 3, std430) readonly buffer In4 { uint x4[]; };
layout(set = 0, binding = 4, std430) writeonly buffer Out1 { uint8_t y1[]; };
layout(set = 0, binding = 5, std430) writeonly buffer Out2 { uint16_t y2[]; };
layout(set = 0, binding = 6, std430) writeonly buffer Out4 { uint y4[]; };

uint byte_of(uint at) { return uint(x1[base[0] + at]); }
uint short_of(uint at) { return uint(x2[(base[1] >> 1) + at]); }
uint word_of(uint at) { return x4[(base[2] >> 2) + at]; }
int signed_of(uint value, uint bits) { return bitfieldExtract(int(value), 0, int(bits)); }

bool nan_bits(uint bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

// Bits of the float32 that an f16 stands for; numbers too small for its usual form included.
uint half_to_single(uint h) {
    uint sign_bit = (h & 0x8000u) << 16;
    uint magnitude = h & 0x7fffu;
    if (magnitude >= 0x7c00u) return sign_bit | 0x7f800000u | ((magnitude & 0x3ffu) << 13);
    if (magnitude >= 0x400u) return sign_bit | ((magnitude << 13) + 0x38000000u);
    return sign_bit | floatBitsToUint(float(magnitude) * 5.9604644775390625e-8);
}

// float32 to f16, nearest even, by whole-number arithmetic: the language leaves the rounding of a conversion open. `cut`: digits
// were cut off before.
uint single_to_half(uint bits, bool cut) {
    uint sign_bit = (bits >> 16) & 0x8000u;
    uint magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign_bit | 0x7e00u;
    if (magnitude >= 0x47800000u) return sign_bit | 0x7c00u;
    int shift = 13;
    uint m = magnitude;
    if (magnitude < 0x38800000u) {
        int power = int(magnitude >> 23);
        if (power < 101) return sign_bit;
        m = (magnitude & 0x7fffffu) | 0x800000u;
        shift = 13 + (113 - power);
    } else {
        m -= 0x38000000u;
    }
    uint whole = m >> shift;
    uint rest = m & ((1u << shift) - 1u);
    uint tie = 1u << (shift - 1);
    if (rest > tie || (rest == tie && (cut || (whole & 1u) != 0u))) whole += 1;
    return sign_bit | whole;
}

uint single_to_brain(uint bits, bool cut) {
    if (nan_bits(bits)) return (bits >> 16) | 0x40u;
    uint rest = bits & 0xffffu;
    uint whole = bits >> 16;
    if (rest > 0x8000u || (rest == 0x8000u && (cut || (whole & 1u) != 0u))) whole += 1;
    return whole;
}

float block_value(uint i) {
    uint block = i >> 5;
    uint k = i & 31u;
    if (FROM == BP_Q8_0) {
        float scale = uintBitsToFloat(half_to_single(short_of(block * 17)));
        return scale * float(signed_of(byte_of(block * 34 + 2 + k), 8));
    }
    float scale = uintBitsToFloat(half_to_single(short_of(block * 9)));
    uint pair = byte_of(block * 18 + 2 + (k & 15u));
    return scale * float(int(k < 16u ? pair & 15u : pair >> 4) - 8);
}

bool from_float() { return FROM <= BP_F64 || FROM >= BP_Q8_0; }

uint load_single(uint i) {
    if (FROM == BP_F32) return word_of(i);
    if (FROM == BP_F16) return half_to_single(short_of(i));
    if (FROM == BP_BF16) return short_of(i) << 16;
    return floatBitsToUint(block_value(i));
}

int load_whole(uint i) {
    switch (FROM) {
        case BP_I8: return signed_of(byte_of(i), 8);
        case BP_I16: return signed_of(short_of(i), 16);
        case BP_U16: return int(short_of(i));
        case BP_I32: return int(word_of(i));
        case BP_BOOL: return byte_of(i) != 0u ? 1 : 0;
    }
    return int(byte_of(i));
}

void store_bits(uint i, uint value) {
    switch (TO) {
        case BP_I8:
        case BP_U8:
        case BP_BOOL: y1[base[3] + i] = uint8_t(value); break;
        case BP_F16:
        case BP_BF16:
        case BP_I16:
        case BP_U16: y2[(base[4] >> 1) + i] = uint16_t(value); break;
        default: y4[(base[5] >> 2) + i] = value;
    }
}

int least_of() { return TO == BP_I8 ? -128 : TO == BP_I16 ? -32768 : TO == BP_U8 || TO == BP_U16 ? 0 : -2147483648; }
int most_of() { return TO == BP_I8 ? 127 : TO == BP_U8 ? 255 : TO == BP_I16 ? 32767 : TO == BP_U16 ? 65535 : 2147483647; }

void store_single(uint i, uint bits, bool cut) {
    if (TO == BP_F32) store_bits(i, bits);
    if (TO == BP_F16) store_bits(i, single_to_half(bits, cut));
    if (TO == BP_BF16) store_bits(i, single_to_brain(bits, cut));
    if (TO == BP_BOOL) store_bits(i, (bits & 0x7fffffffu) != 0u ? 1u : 0u);
    if (TO >= BP_I8 && TO <= BP_I32) {
        float v = nan_bits(bits) ? 0.0 : uintBitsToFloat(bits);
        int whole = v >= 2147483648.0 ? 2147483647 : v <= -2147483648.0 ? -2147483648 : int(v);
        store_bits(i, uint(clamp(whole, least_of(), most_of())));
    }
}

// Digits of a whole number beyond the 24 of a float32 are folded into its last, so that a second rounding errs no more than one.
uint odd_single(uint magnitude, bool negative) {
    int top = findMSB(magnitude);
    if (top > 23) {
        uint dropped = magnitude & ((1u << (top - 23)) - 1u);
        magnitude &= ~((1u << (top - 23)) - 1u);
        if (dropped != 0u) magnitude |= 1u << (top - 23);
    }
    uint bits = floatBitsToUint(float(magnitude));
    return negative ? bits | 0x80000000u : bits;
}

void store_whole(uint i, int value) {
    if (TO == BP_F32) store_bits(i, floatBitsToUint(float(value)));
    if (TO == BP_F16 || TO == BP_BF16) store_single(i, odd_single(value < 0 ? uint(-value) : uint(value), value < 0), false);
    if (TO == BP_BOOL) store_bits(i, value != 0 ? 1u : 0u);
    if (TO >= BP_I8 && TO <= BP_I32) store_bits(i, uint(clamp(value, least_of(), most_of())));
}

#if defined(WIDE)
void store_pair(uint i, uvec2 value) {
    y4[(base[5] >> 2) + 2 * i] = value.x;
    y4[(base[5] >> 2) + 2 * i + 1] = value.y;
}
void store_long(uint i, int64_t v) {
    bool negative = v < 0;
    uint64_t magnitude = negative ? uint64_t(-v) : uint64_t(v);
    uvec2 parts = unpackUint2x32(magnitude);
    if (TO == BP_I64) {
        store_pair(i, unpackUint2x32(uint64_t(v)));
    } else if (TO == BP_BOOL) {
        store_bits(i, v != 0 ? 1u : 0u);
    } else if (TO <= BP_BF16) {
        // To float32 with the digits that are cut in `cut`; to float32 itself by rounding those here.
        int top = parts.y != 0u ? 32 + findMSB(parts.y) : parts.x != 0u ? findMSB(parts.x) : 0;
        int drop = max(0, top - 23);
        uint64_t kept = magnitude >> drop;
        uint64_t dropped = magnitude - (kept << drop);
        uint m = uint(kept);
        uint64_t tie = drop > 0 ? uint64_t(1) << (drop - 1) : uint64_t(0);
        if (TO == BP_F32 && drop > 0 && (dropped > tie || (dropped == tie && (m & 1u) != 0u))) m += 1u;
        if (TO != 1u && dropped != 0) m |= 1u;
        float value = float(m) * uintBitsToFloat(uint(127 + drop) << 23);
        uint bits = floatBitsToUint(value) | (negative ? 0x80000000u : 0u);
        store_single(i, bits, false);
    } else {
        int64_t c = v < int64_t(least_of()) ? int64_t(least_of()) : v > int64_t(most_of()) ? int64_t(most_of()) : v;
        store_bits(i, uint(int(c)));
    }
}
int64_t single_to_long(uint bits) {
    if (nan_bits(bits)) return int64_t(0);
    uint magnitude = bits & 0x7fffffffu;
    int power = int(magnitude >> 23) - 150;
    bool negative = (bits >> 31) != 0u;
    uint64_t m = uint64_t((magnitude & 0x7fffffu) | 0x800000u);
    if (power >= 40) return packInt2x32(negative ? ivec2(0, -2147483648) : ivec2(-1, 2147483647));
    if (power < -24) return int64_t(0);
    uint64_t v = power >= 0 ? m << power : m >> -power;
    return negative ? -int64_t(v) : int64_t(v);
}
int64_t double_to_long(uvec2 bits) {
    uint magnitude = bits.y & 0x7fffffffu;
    if (magnitude > 0x7ff00000u || (magnitude == 0x7ff00000u && bits.x != 0u)) return int64_t(0);
    bool negative = (bits.y >> 31) != 0u;
    int power = int(magnitude >> 20) - 1075;
    if (power >= 11) return packInt2x32(negative ? ivec2(0, -2147483648) : ivec2(-1, 2147483647));
    if (power < -53) return int64_t(0);
    uint64_t m = packUint2x32(uvec2(bits.x, (magnitude & 0xfffffu) | 0x100000u));
    uint64_t v = power >= 0 ? m << power : m >> -power;
    return negative ? -int64_t(v) : int64_t(v);
}
// Bits of the float32 nearest to a double; to a shorter type, with what was cut folded into the last digit.
uint double_to_single(uvec2 bits, bool odd) {
    uint sign_bit = bits.y & 0x80000000u;
    uint magnitude = bits.y & 0x7fffffffu;
    if (magnitude > 0x7ff00000u || (magnitude == 0x7ff00000u && bits.x != 0u)) return sign_bit | 0x7fc00000u;
    if (magnitude == 0x7ff00000u) return sign_bit | 0x7f800000u;
    int power = int(magnitude >> 20) - 1023 + 127;
    if (power >= 255) return sign_bit | (odd ? 0x7f7fffffu : 0x7f800000u);
    uint64_t m = packUint2x32(uvec2(bits.x, (magnitude & 0xfffffu) | 0x100000u));
    int drop = 29;
    if (power < 1) {
        drop = 29 + 1 - power;
        power = 0;
    }
    if (drop > 54) return sign_bit | (odd && m != 0 && magnitude != 0u ? 1u : 0u);
    uint64_t kept = m >> drop;
    uint64_t dropped = m - (kept << drop);
    uint64_t tie = uint64_t(1) << (drop - 1);
    uint whole = uint(kept);
    if (odd) {
        if (dropped != 0) whole |= 1u;
    } else if (dropped > tie || (dropped == tie && (whole & 1u) != 0u)) {
        whole += 1u;
    }
    return sign_bit | (power == 0 ? whole : (uint(power - 1) << 23) + whole);
}
uvec2 single_to_double(uint bits) {
    uint sign_bit = bits & 0x80000000u;
    uint magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return uvec2(0u, sign_bit | 0x7ff80000u);
    if (magnitude == 0x7f800000u) return uvec2(0u, sign_bit | 0x7ff00000u);
    if (magnitude == 0u) return uvec2(0u, sign_bit);
    int power = int(magnitude >> 23);
    uint m = magnitude & 0x7fffffu;
    if (power == 0) {
        int top = findMSB(m);
        m = (m << (23 - top)) & 0x7fffffu;
        power = top - 22;
    }
    return uvec2(m << 29, sign_bit | (uint(power + 896) << 20) | (m >> 3));
}
// The sign is taken from the bits: a comparison of widened numbers went wrong on a driver.
uvec2 long_to_double(uvec2 parts) {
    if ((parts.x | parts.y) == 0u) return uvec2(0u);
    uint sign_bit = parts.y & 0x80000000u;
    uint64_t m = packUint2x32(parts);
    if (sign_bit != 0u) {
        m = ~m + 1;
        parts = unpackUint2x32(m);
    }
    int top = parts.y != 0u ? 32 + findMSB(parts.y) : findMSB(parts.x);
    int power = 1023 + top;
    if (top <= 52) {
        m <<= 52 - top;
    } else {
        int drop = top - 52;
        uint64_t kept = m >> drop;
        uint64_t dropped = m - (kept << drop);
        uint64_t tie = uint64_t(1) << (drop - 1);
        if (dropped > tie || (dropped == tie && (kept & 1) != 0)) kept += 1;
        m = kept;
    }
    parts = unpackUint2x32(m);
    return uvec2(parts.x, sign_bit | ((uint(power - 1) << 20) + parts.y));
}
bool converted_wide(uint i) {
    if (FROM == BP_I64) {
        int64_t v = packInt2x32(ivec2(word_of(2 * i), word_of(2 * i + 1)));
        if (TO == BP_F64) store_pair(i, long_to_double(uvec2(word_of(2 * i), word_of(2 * i + 1))));
        else store_long(i, v);
        return true;
    }
    if (FROM == BP_F64) {
        uvec2 v = uvec2(word_of(2 * i), word_of(2 * i + 1));
        if (TO == BP_F64) store_pair(i, v);
        else if (TO == BP_I64 || (TO >= BP_I8 && TO <= BP_I32)) store_long(i, double_to_long(v));
        else if (TO == BP_BOOL) store_bits(i, (v.x | (v.y & 0x7fffffffu)) != 0u ? 1u : 0u);
        else store_single(i, double_to_single(v, TO != 1u), false);
        return true;
    }
    if (TO == BP_F64) {
        int whole = load_whole(i);
        store_pair(i, from_float() ? single_to_double(load_single(i)) : long_to_double(uvec2(whole, whole >> 31)));
        return true;
    }
    if (TO == BP_I64) {
        store_long(i, from_float() ? single_to_long(load_single(i)) : packInt2x32(ivec2(load_whole(i), load_whole(i) >> 31)));
        return true;
    }
    return false;
}
#endif

void main() {
    uint i = invocation_index();
    if (i >= P.elements) return;
#if defined(WIDE)
    if (converted_wide(i)) return;
#endif
    if (from_float()) {
        store_single(i, load_single(i), false);
    } else {
        store_whole(i, load_whole(i));
    }
}
