#include "common.cl"
#define P PARAMETERS_OF(Cast)
// Conversion between any two element types. Parameters: elements. Operands are given three times, as bytes, shorts and words; the first
// element counts bytes. WIDE: with 64-bit types.
#define FROM C1  // BP_F32 ...
#define TO C2
#if FROM <= BP_F64 || FROM >= BP_Q8_0
#define FROM_FLOAT
#endif
#pragma OPENCL FP_CONTRACT OFF

typedef struct {
    global const uchar *x1;
    global const ushort *x2;
    global const uint *x4;
    global uchar *y1;
    global ushort *y2;
    global uint *y4;
} Both;

int signed_of(uint value, uint bits) { return as_int(value << (32 - bits)) >> (32 - bits); }
int nan_bits(uint bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }
int top_bit(uint v) { return 31 - (int)clz(v); }

// Bits of the float32 that an f16 stands for; numbers too small for its usual form included.
uint half_to_single(uint h) {
    uint sign_bit = (h & 0x8000u) << 16;
    uint magnitude = h & 0x7fffu;
    if (magnitude >= 0x7c00u) return sign_bit | 0x7f800000u | ((magnitude & 0x3ffu) << 13);
    if (magnitude >= 0x400u) return sign_bit | ((magnitude << 13) + 0x38000000u);
    return sign_bit | as_uint((float)magnitude * 5.9604644775390625e-8f);
}

// float32 to f16, nearest even.
uint single_to_half(uint bits) {
    uint sign_bit = (bits >> 16) & 0x8000u;
    uint magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign_bit | 0x7e00u;
    if (magnitude >= 0x47800000u) return sign_bit | 0x7c00u;
    int shift = 13;
    uint m = magnitude;
    if (magnitude < 0x38800000u) {
        int power = (int)(magnitude >> 23);
        if (power < 101) return sign_bit;
        m = (magnitude & 0x7fffffu) | 0x800000u;
        shift = 13 + (113 - power);
    } else {
        m -= 0x38000000u;
    }
    uint whole = m >> shift;
    uint rest = m & ((1u << shift) - 1u);
    uint tie = 1u << (shift - 1);
    if (rest > tie || (rest == tie && (whole & 1u) != 0u)) whole += 1;
    return sign_bit | whole;
}

uint single_to_brain(uint bits) {
    if (nan_bits(bits)) return (bits >> 16) | 0x40u;
    uint rest = bits & 0xffffu;
    uint whole = bits >> 16;
    if (rest > 0x8000u || (rest == 0x8000u && (whole & 1u) != 0u)) whole += 1;
    return whole;
}

float block_value(const Both *at, uint i) {
    uint block = i >> 5;
    uint k = i & 31u;
    if (FROM == BP_Q8_0) {
        float scale = as_float(half_to_single(at->x2[block * 17]));
        return scale * (float)signed_of(at->x1[block * 34 + 2 + k], 8);
    }
    float scale = as_float(half_to_single(at->x2[block * 9]));
    uint pair = at->x1[block * 18 + 2 + (k & 15u)];
    return scale * (float)((int)(k < 16u ? pair & 15u : pair >> 4) - 8);
}

uint load_single(const Both *at, uint i) {
    if (FROM == BP_F32) return at->x4[i];
    if (FROM == BP_F16) return half_to_single(at->x2[i]);
    if (FROM == BP_BF16) return (uint)at->x2[i] << 16;
    return as_uint(block_value(at, i));
}

int load_whole(const Both *at, uint i) {
    switch (FROM) {
        case BP_I8: return signed_of(at->x1[i], 8);
        case BP_I16: return signed_of(at->x2[i], 16);
        case BP_U16: return at->x2[i];
        case BP_I32: return as_int(at->x4[i]);
        case BP_BOOL: return at->x1[i] != 0 ? 1 : 0;
    }
    return at->x1[i];
}

void store_bits(const Both *at, uint i, uint value) {
    switch (TO) {
        case BP_I8:
        case BP_U8:
        case BP_BOOL: at->y1[i] = (uchar)value; break;
        case BP_F16:
        case BP_BF16:
        case BP_I16:
        case BP_U16: at->y2[i] = (ushort)value; break;
        default: at->y4[i] = value;
    }
}

#define LEAST (TO == BP_I8 ? -128 : TO == BP_I16 ? -32768 : TO == BP_U8 || TO == BP_U16 ? 0 : INT_MIN)
#define MOST (TO == BP_I8 ? 127 : TO == BP_U8 ? 255 : TO == BP_I16 ? 32767 : TO == BP_U16 ? 65535 : INT_MAX)

void store_single(const Both *at, uint i, uint bits) {
    if (TO == BP_F32) store_bits(at, i, bits);
    if (TO == BP_F16) store_bits(at, i, single_to_half(bits));
    if (TO == BP_BF16) store_bits(at, i, single_to_brain(bits));
    if (TO == BP_BOOL) store_bits(at, i, (bits & 0x7fffffffu) != 0u ? 1u : 0u);
    if (TO >= BP_I8 && TO <= BP_I32) {
        float v = nan_bits(bits) ? 0.0f : as_float(bits);
        int whole = v >= 2147483648.0f ? INT_MAX : v <= -2147483648.0f ? INT_MIN : (int)v;
        store_bits(at, i, (uint)clamp(whole, LEAST, MOST));
    }
}

// Digits of a whole number beyond the 24 of a float32 are folded into its last, so that a second rounding errs no more than one.
uint odd_single(uint magnitude, int negative) {
    int top = magnitude != 0 ? top_bit(magnitude) : 0;
    if (top > 23) {
        uint dropped = magnitude & ((1u << (top - 23)) - 1u);
        magnitude &= ~((1u << (top - 23)) - 1u);
        if (dropped != 0u) magnitude |= 1u << (top - 23);
    }
    uint bits = as_uint((float)magnitude);
    return negative ? bits | 0x80000000u : bits;
}

void store_whole(const Both *at, uint i, int value) {
    if (TO == BP_F32) store_bits(at, i, as_uint((float)value));
    if (TO == BP_F16 || TO == BP_BF16) store_single(at, i, odd_single(value < 0 ? 0u - (uint)value : (uint)value, value < 0));
    if (TO == BP_BOOL) store_bits(at, i, value != 0 ? 1u : 0u);
    if (TO >= BP_I8 && TO <= BP_I32) store_bits(at, i, (uint)clamp(value, LEAST, MOST));
}

#if defined(WIDE)
// 64-bit elements may stand at a multiple of 4 bytes.
ulong load_pair(const Both *at, uint i) { return ((ulong)at->x4[2 * i + 1] << 32) | at->x4[2 * i]; }
void store_pair(const Both *at, uint i, ulong value) {
    at->y4[2 * i] = (uint)value;
    at->y4[2 * i + 1] = (uint)(value >> 32);
}
int top_bit_long(ulong v) { return 63 - (int)clz(v); }

void store_long(const Both *at, uint i, long v) {
    if (TO == BP_I64) {
        store_pair(at, i, (ulong)v);
    } else if (TO == BP_BOOL) {
        store_bits(at, i, v != 0 ? 1u : 0u);
    } else if (TO <= BP_BF16) {
        // To float32 by rounding here; to a shorter type with what is cut folded into the last digit.
        ulong magnitude = v < 0 ? 0ul - (ulong)v : (ulong)v;
        int top = magnitude != 0 ? top_bit_long(magnitude) : 0;
        int drop = max(0, top - 23);
        ulong kept = magnitude >> drop;
        ulong dropped = magnitude - (kept << drop);
        uint m = (uint)kept;
        ulong tie = drop > 0 ? 1ul << (drop - 1) : 0ul;
        if (TO == BP_F32 && drop > 0 && (dropped > tie || (dropped == tie && (m & 1u) != 0u))) m += 1u;
        if (TO != 1 && dropped != 0) m |= 1u;
        float value = (float)m * as_float((uint)(127 + drop) << 23);
        store_single(at, i, as_uint(value) | (v < 0 ? 0x80000000u : 0u));
    } else {
        long c = v < (long)LEAST ? (long)LEAST : v > (long)MOST ? (long)MOST : v;
        store_bits(at, i, (uint)(int)c);
    }
}

long single_to_long(uint bits) {
    if (nan_bits(bits)) return 0;
    uint magnitude = bits & 0x7fffffffu;
    int power = (int)(magnitude >> 23) - 150;
    int negative = (bits >> 31) != 0u;
    ulong m = (magnitude & 0x7fffffu) | 0x800000u;
    if (power >= 40) return negative ? LONG_MIN : LONG_MAX;
    if (power < -24) return 0;
    ulong v = power >= 0 ? m << power : m >> -power;
    return negative ? -(long)v : (long)v;
}

long double_to_long(ulong bits) {
    ulong magnitude = bits & 0x7ffffffffffffffful;
    if (magnitude > 0x7ff0000000000000ul) return 0;
    int negative = (bits >> 63) != 0;
    int power = (int)(magnitude >> 52) - 1075;
    if (power >= 11) return negative ? LONG_MIN : LONG_MAX;
    if (power < -53) return 0;
    ulong m = (magnitude & 0xffffffffffffful) | 0x10000000000000ul;
    ulong v = power >= 0 ? m << power : m >> -power;
    return negative ? -(long)v : (long)v;
}

// Bits of the float32 nearest to a double; `odd`: with what was cut folded into the last digit, for a shorter type.
uint double_to_single(ulong bits, int odd) {
    uint sign_bit = (uint)(bits >> 32) & 0x80000000u;
    ulong magnitude = bits & 0x7ffffffffffffffful;
    if (magnitude > 0x7ff0000000000000ul) return sign_bit | 0x7fc00000u;
    if (magnitude == 0x7ff0000000000000ul) return sign_bit | 0x7f800000u;
    int power = (int)(magnitude >> 52) - 1023 + 127;
    if (power >= 255) return sign_bit | (odd ? 0x7f7fffffu : 0x7f800000u);
    ulong m = (magnitude & 0xffffffffffffful) | 0x10000000000000ul;
    int drop = 29;
    if (power < 1) {
        drop = 29 + 1 - power;
        power = 0;
    }
    if (drop > 54) return sign_bit | (odd && magnitude != 0 ? 1u : 0u);
    ulong kept = m >> drop;
    ulong dropped = m - (kept << drop);
    ulong tie = 1ul << (drop - 1);
    uint whole = (uint)kept;
    if (odd) {
        if (dropped != 0) whole |= 1u;
    } else if (dropped > tie || (dropped == tie && (whole & 1u) != 0u)) {
        whole += 1u;
    }
    return sign_bit | (power == 0 ? whole : ((uint)(power - 1) << 23) + whole);
}

ulong single_to_double(uint bits) {
    ulong sign_bit = (ulong)(bits & 0x80000000u) << 32;
    uint magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign_bit | 0x7ff8000000000000ul;
    if (magnitude == 0x7f800000u) return sign_bit | 0x7ff0000000000000ul;
    if (magnitude == 0u) return sign_bit;
    int power = (int)(magnitude >> 23);
    uint m = magnitude & 0x7fffffu;
    if (power == 0) {
        int top = top_bit(m);
        m = (m << (23 - top)) & 0x7fffffu;
        power = top - 22;
    }
    return sign_bit | ((ulong)(power + 896) << 52) | ((ulong)m << 29);
}

ulong long_to_double(long v) {
    if (v == 0) return 0;
    ulong sign_bit = v < 0 ? 0x8000000000000000ul : 0ul;
    ulong m = v < 0 ? 0ul - (ulong)v : (ulong)v;
    int top = top_bit_long(m);
    int power = 1023 + top;
    if (top <= 52) {
        m <<= 52 - top;
    } else {
        int drop = top - 52;
        ulong kept = m >> drop;
        ulong dropped = m - (kept << drop);
        ulong tie = 1ul << (drop - 1);
        if (dropped > tie || (dropped == tie && (kept & 1) != 0)) kept += 1;
        m = kept;
    }
    return sign_bit | (((ulong)(power - 1) << 52) + m);
}

void convert(const Both *at, uint i) {
#if FROM == BP_I64
    long v = (long)load_pair(at, i);
    if (TO == BP_F64) {
        store_pair(at, i, long_to_double(v));
    } else {
        store_long(at, i, v);
    }
#elif FROM == BP_F64
    ulong v = load_pair(at, i);
    if (TO == BP_F64) {
        store_pair(at, i, v);
    } else if (TO == BP_I64 || (TO >= BP_I8 && TO <= BP_I32)) {
        store_long(at, i, double_to_long(v));
    } else if (TO == BP_BOOL) {
        store_bits(at, i, (v & 0x7ffffffffffffffful) != 0 ? 1u : 0u);
    } else {
        store_single(at, i, double_to_single(v, TO != 1));
    }
#elif defined(FROM_FLOAT)
    uint v = load_single(at, i);
    if (TO == BP_F64) {
        store_pair(at, i, single_to_double(v));
    } else {
        store_long(at, i, single_to_long(v));
    }
#else
    long v = load_whole(at, i);
    if (TO == BP_F64) {
        store_pair(at, i, long_to_double(v));
    } else {
        store_long(at, i, v);
    }
#endif
}
#else
void convert(const Both *at, uint i) {
#if defined(FROM_FLOAT)
    store_single(at, i, load_single(at, i));
#else
    store_whole(at, i, load_whole(at, i));
#endif
}
#endif

ENTRY bp_cast(PARAMETERS, READ(x1, uchar), READ(x2, uchar), READ(x4, uchar), WRITE(y1, uchar), WRITE(y2, uchar), WRITE(y4, uchar)) {
    BEGIN;
    AT(x1), AT(x2), AT(x4), AT(y1), AT(y2), AT(y4);
    Both at;
    at.x1 = x1;
    at.x2 = (global const ushort *)x2;
    at.x4 = (global const uint *)x4;
    at.y1 = y1;
    at.y2 = (global ushort *)y2;
    at.y4 = (global uint *)y4;
    uint i = invocation_index();
    if (i < P.elements) convert(&at, i);
}
