// Bits as whole numbers and as f16, for kernels that meet them in bytes and words of other sizes.
FUNCTION int signed_of(uint value, uint bits) { return CAST(int, value << (32u - bits)) >> (32u - bits); }

// Bits of the float32 that an f16 stands for; numbers too small for its usual form included.
FUNCTION uint half_to_single(uint h) {
    uint sign_bit = (h & 0x8000u) << 16;
    uint magnitude = h & 0x7fffu;
    if (magnitude >= 0x7c00u) return sign_bit | 0x7f800000u | ((magnitude & 0x3ffu) << 13);
    if (magnitude >= 0x400u) return sign_bit | ((magnitude << 13) + 0x38000000u);
    return sign_bit | AS_UINT(CAST(float, magnitude) * 5.9604644775390625e-8f);
}

// float32 to f16, nearest even.
FUNCTION uint single_to_half(uint bits) {
    uint sign_bit = (bits >> 16) & 0x8000u;
    uint magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign_bit | 0x7e00u;
    if (magnitude >= 0x47800000u) return sign_bit | 0x7c00u;
    uint shift = 13u;
    uint m = magnitude;
    if (magnitude < 0x38800000u) {
        uint power = magnitude >> 23;
        if (power < 101u) return sign_bit;
        m = (magnitude & 0x7fffffu) | 0x800000u;
        shift = 13u + (113u - power);
    } else {
        m -= 0x38000000u;
    }
    uint whole = m >> shift;
    uint rest = m & ((1u << shift) - 1u);
    uint tie = 1u << (shift - 1u);
    if (rest > tie || (rest == tie && (whole & 1u) != 0u)) whole += 1u;
    return sign_bit | whole;
}
