// Quotients and square roots as IEEE 754 has them: the nearest float, of two the even one. What Round makes whole after a Div is
// off by one otherwise. Languages promise a few units (Vulkan and OpenCL 2.5 of a quotient, more of a root), their fma() may round
// the product, and numbers below the normal ones may be 0: whole numbers alone are exact everywhere. Where a language divides
// exactly, EXACT_DIVISION says so.
#if defined(EXACT_DIVISION)
#define QUOTIENT(a, b) a / b
#define ROOT(x) sqrt(x)
#else
#if !defined(NEARLY_DIVIDED)  // to 30 units; of numbers from 1 to 4
#define NEARLY_DIVIDED(a, b) ((a) / (b))
#define NEARLY_ROOT(x) sqrt(x)
#endif
// A finite number above 0, given by its bits, is digits_of * 2^(power_of - 150), digits_of from 2^23 to below 2^24.
FUNCTION uint digits_of(uint bits) {
    return bits < 0x00800000u ? bits << CAST(uint, 23 - TOP_BIT(bits)) : (bits & 0x007fffffu) | 0x00800000u;
}
FUNCTION int power_of(uint bits) { return bits < 0x00800000u ? TOP_BIT(bits) - 22 : CAST(int, bits >> 23); }
// digits_of as a float from 1 to below 2.
FUNCTION float from_one(uint digits) { return AS_FLOAT((digits & 0x007fffffu) | 0x3f800000u); }

// The bits of the float nearest to q * 2^(power - 150), q from 2^23 to 2^24 and off by less than a half, `rest` says to which side.
FUNCTION uint nearest_bits(uint q, int rest, int power) {
    if (power > 254) return 0x7f800000u;
    if (power > 0) return (CAST(uint, power - 1) << 23) + q;
    uint drop = CAST(uint, min(1 - power, 26));
    uint kept = q >> drop;
    uint cut = q - (kept << drop);
    uint tie = 1u << (drop - 1u);
    bool up = cut > tie || (cut == tie && (rest > 0 || (rest == 0 && (kept & 1u) != 0u)));
    return up ? kept + 1u : kept;
}

// x / y of numbers that are finite and not 0, by their bits without signs. What a quotient that is near leaves is small: 32 bits
// hold it, whatever the products lose above.
FUNCTION uint quotient_bits(uint x, uint y) {
    uint a = digits_of(x);
    uint b = digits_of(y);
    uint up = a < b ? 24u : 23u;
    uint q = CAST(uint, NEARLY_DIVIDED(from_one(a), from_one(b)) * AS_FLOAT((127u + up) << 23));
    int rest = CAST(int, (a << up) - q * b);
    int whole = CAST(int, b);
    while (2 * rest > whole) {
        rest -= whole;
        q += 1u;
    }
    while (2 * rest < -whole) {
        rest += whole;
        q -= 1u;
    }
    return nearest_bits(q, rest, power_of(x) - power_of(y) + 150 - CAST(int, up));
}

FUNCTION float QUOTIENT(float x, float y) {
    uint sign_bit = (AS_UINT(x) ^ AS_UINT(y)) & 0x80000000u;
    uint a = AS_UINT(x) & 0x7fffffffu;
    uint b = AS_UINT(y) & 0x7fffffffu;
    if (a - 1u < 0x7f7fffffu && b - 1u < 0x7f7fffffu) return AS_FLOAT(sign_bit | quotient_bits(a, b));
    if (a > 0x7f800000u || b > 0x7f800000u || (a == b && (a == 0u || a == 0x7f800000u))) return K_NAN;
    return AS_FLOAT(sign_bit | (b == 0u || a == 0x7f800000u ? 0x7f800000u : 0u));
}

// The square root of a finite number above 0.
FUNCTION float ROOT(float x) {
    uint bits = AS_UINT(x);
    uint a = digits_of(bits);
    int power = power_of(bits);
    uint up = (power & 1) != 0 ? 23u : 24u;
    float about = up == 23u ? from_one(a) : from_one(a) + from_one(a);
    uint s = CAST(uint, NEARLY_ROOT(about) * 8388608.0f);
    int rest = CAST(int, (a << up) - s * s);
    while (rest > CAST(int, s)) {
        rest -= CAST(int, 2u * s + 1u);
        s += 1u;
    }
    while (rest <= -CAST(int, s)) {
        rest += CAST(int, 2u * s - 1u);
        s -= 1u;
    }
    return AS_FLOAT(nearest_bits(s, 0, (power - 150 - CAST(int, up)) / 2 + 150));
}
#endif
