// Elementary functions to a few units of the last place, the same on every device and in every language. Ranges are reduced and
// polynomials are those of the Cephes library. Products and sums are rounded each: PRECISE in one language, the pragma in another.
#pragma OPENCL FP_CONTRACT OFF
#include "division.h"

// x * 2^n in two steps: neither factor leaves the range of float.
FUNCTION float scale_by_power(float x, int n) {
    int half_n = n >> 1;
    return x * AS_FLOAT(CAST(uint, half_n + 127) << 23) * AS_FLOAT(CAST(uint, n - half_n + 127) << 23);
}

// e^r, |r| <= ln(2) / 2
FUNCTION float exp_reduced(float r) {
    float y = 1.9875691500e-4f;
    y = y * r + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    return y * (r * r) + r + 1.0f;
}

FUNCTION float exp_(float x) {
    if (is_nan(x)) return x;
    float c = x > 90.0f ? 90.0f : x < -120.0f ? -120.0f : x;
    PRECISE float n = floor(c * 1.44269504088896341f + 0.5f);
    PRECISE float r = c - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    float y = scale_by_power(exp_reduced(r), CAST(int, n));
    return x > 89.0f ? K_INFINITY : x < -110.0f ? 0.0f : y;
}

// ln(m * 2^e) of x = m * 2^e, sqrt(1/2) <= m < sqrt(2); returns m - 1, e. x > 0 and finite.
FUNCTION float2 log_reduced(float x) {
    int shift = 0;
    if (x < 1.17549435e-38f) {
        x *= 8388608.0f;
        shift = 23;
    }
    uint bits = AS_UINT(x);
    int power = CAST(int, bits >> 23) - 126 - shift;
    float m = AS_FLOAT((bits & 0x007fffffu) | 0x3f000000u);
    if (m < 0.707106781186547524f) {
        power -= 1;
        m = m + m;
    }
    return FLOAT2(m - 1.0f, CAST(float, power));
}

FUNCTION float log_polynomial(float m) {
    float z = m * m;
    float y = 7.0376836292e-2f;
    y = y * m - 1.1514610310e-1f;
    y = y * m + 1.1676998740e-1f;
    y = y * m - 1.2420140846e-1f;
    y = y * m + 1.4249322787e-1f;
    y = y * m - 1.6668057665e-1f;
    y = y * m + 2.0000714765e-1f;
    y = y * m - 2.4999993993e-1f;
    y = y * m + 3.3333331174e-1f;
    return y * m * z;
}

FUNCTION float log_(float x) {
    if (is_nan(x)) return x;
    if (x < 0.0f) return K_NAN;
    if (x == 0.0f) return -K_INFINITY;
    if (is_infinite(x)) return x;
    float2 parts = log_reduced(x);
    float m = parts.x;
    float e = parts.y;
    PRECISE float y = log_polynomial(m);
    y = y - 2.12194440e-4f * e;
    y = y - 0.5f * (m * m);
    y = m + y;
    y = y + 0.693359375f * e;
    return y;
}

// log2 of a positive finite number.
FUNCTION float log2_(float x) {
    float2 parts = log_reduced(x);
    float m = parts.x;
    float e = parts.y;
    PRECISE float y = log_polynomial(m) - 0.5f * (m * m);
    // log2(e) = 1 + 0.4426950408889634
    PRECISE float z = y * 0.44269504088896341f + m * 0.44269504088896341f;
    z = z + y;
    z = z + m;
    return z + e;
}

FUNCTION float pow_(float x, float y) {
    if (y == 0.0f || x == 1.0f) return 1.0f;
    if (is_nan(x) || is_nan(y)) return K_NAN;
    float a = ABS(x);
    bool whole = is_infinite(y) || floor(y) == y;
    bool odd = whole && ABS(y) < 16777216.0f && (CAST(uint, ABS(y)) & 1u) == 1u;
    float sign_of = (AS_UINT(x) >> 31) == 1u && odd ? -1.0f : 1.0f;
    if (is_infinite(y)) return a == 1.0f ? 1.0f : (a > 1.0f) == (y > 0.0f) ? K_INFINITY : 0.0f;
    if (a == 0.0f) return sign_of * (y < 0.0f ? K_INFINITY : 0.0f);
    if (is_infinite(a)) return sign_of * (y > 0.0f ? K_INFINITY : 0.0f);
    if (x < 0.0f && !whole) return K_NAN;
    PRECISE float t = y * log2_(a);
    if (t > 129.0f) return sign_of * K_INFINITY;
    if (t < -152.0f) return sign_of * 0.0f;
    PRECISE float n = floor(t + 0.5f);
    PRECISE float r = (t - n) * 0.69314718055994531f;
    return sign_of * scale_by_power(exp_reduced(r), CAST(int, n));
}

// Sine of x, or of x + a quarter turn.
FUNCTION float sine(float x, int quarter) {
    if (is_nan(x) || is_infinite(x)) return K_NAN;
    PRECISE float n = floor(x * 0.63661977236758134f + 0.5f);
    PRECISE float r = x - n * 1.5703125f;
    r = r - n * 4.837512969970703125e-4f;
    r = r - n * 7.54978995489188216e-8f;
    r = clamp(r, -1.0f, 1.0f);
    int q = CAST(int, n - 4.0f * floor(n * 0.25f)) + quarter;
    float z = r * r;
    float y;
    if ((q & 1) == 0) {
        y = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * r + r;
    } else {
        y = ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z + 1.0f;
    }
    return (q & 2) == 0 ? y : -y;
}

FUNCTION float tanh_(float x) {
    if (is_nan(x)) return x;
    float a = ABS(x);
    if (a < 0.625f) {
        float z = x * x;
        float y = -5.70498872745e-3f;
        y = y * z + 2.06390887954e-2f;
        y = y * z - 5.37397155531e-2f;
        y = y * z + 1.33314422036e-1f;
        y = y * z - 3.33332819422e-1f;
        return y * z * x + x;
    }
    float y = a > 10.0f ? 1.0f : 1.0f - 2.0f / (exp_(2.0f * a) + 1.0f);
    return x < 0.0f ? -y : y;
}

FUNCTION float erf_(float x) {
    if (is_nan(x)) return x;
    float a = ABS(x);
    if (a < 1.0f) {
        float z = x * x;
        float y = 7.853861353153693e-5f;
        y = y * z - 8.010193625184903e-4f;
        y = y * z + 5.188327685732524e-3f;
        y = y * z - 2.685381193529856e-2f;
        y = y * z + 1.128358514861418e-1f;
        y = y * z - 3.761262582423300e-1f;
        y = y * z + 1.128379165726710e0f;
        return x * y;
    }
    float y = 1.0f;
    if (a < 6.0f) {
        float q = 1.0f / a;
        float z = q * q;
        float p;
        if (a < 2.0f) {
            p = 2.326819970068386e-2f;
            p = p * z - 1.387039388740657e-1f;
            p = p * z + 3.687424674597105e-1f;
            p = p * z - 5.824733027278666e-1f;
            p = p * z + 6.210004621745983e-1f;
            p = p * z - 4.944515323274145e-1f;
            p = p * z + 3.404879937665872e-1f;
            p = p * z - 2.741127028184656e-1f;
            p = p * z + 5.638259427386472e-1f;
        } else {
            p = -1.047766399936249e+1f;
            p = p * z + 1.297719955372516e+1f;
            p = p * z - 7.495518717768503e+0f;
            p = p * z + 2.921019019210786e+0f;
            p = p * z - 1.015265279202700e+0f;
            p = p * z + 4.218463358204948e-1f;
            p = p * z - 2.820767439740514e-1f;
            p = p * z + 5.641895067754075e-1f;
        }
        y = 1.0f - exp_(-a * a) * q * p;
    }
    return x < 0.0f ? -y : y;
}

FUNCTION float sigmoid_(float x) {
    if (is_nan(x)) return x;
    return x < -88.0f ? exp_(x) : 1.0f / (1.0f + exp_(-x));
}

FUNCTION float gelu_(float x, float tanh_form) {
    if (is_nan(x)) return x;
    if (x == 0.0f || x == K_INFINITY) return x;
    if (x == -K_INFINITY) return -0.0f;
    if (tanh_form != 0.0f) {
        float inner = 0.79788456080286536f * (x + 0.044715f * x * x * x);
        return 0.5f * x * (1.0f + tanh_(inner));
    }
    return 0.5f * x * (1.0f + erf_(x * 0.70710678118654752f));
}

// e^x - 1 for x <= 0 out of the hyperbolic tangent, which keeps its digits near 0.
FUNCTION float expm1_below(float x) {
    float t = tanh_(0.5f * x);
    return 2.0f * t / (1.0f - t);
}

// tanh(ln(1 + e^x)) = n / (n + 2), n = e^x (e^x + 2); 1 from 20 on.
FUNCTION float mish_(float x) {
    if (is_nan(x) || x > 20.0f) return x;
    if (x < -110.0f) return -0.0f;
    float e = exp_(x);
    float n = e * (e + 2.0f);
    return x * (n / (n + 2.0f));
}

// What x / y leaves, with the sign of x, exact: bit by bit, as no division is that long.
FUNCTION float fmod_(float x, float y) {
    uint sign_bit = AS_UINT(x) & 0x80000000u;
    uint a = AS_UINT(x) & 0x7fffffffu;
    uint b = AS_UINT(y) & 0x7fffffffu;
    if (a >= 0x7f800000u || b > 0x7f800000u || b == 0u) return K_NAN;
    if (a < b) return x;
    int power = CAST(int, a >> 23);
    int last = CAST(int, b >> 23);
    a = power == 0 ? a << 1 : (a & 0x007fffffu) | 0x00800000u;
    b = last == 0 ? b << 1 : (b & 0x007fffffu) | 0x00800000u;
    for (; power > last; --power) a = (a >= b ? a - b : a) << 1;
    a = a >= b ? a - b : a;
    if (a == 0u) return AS_FLOAT(sign_bit);
    int up = 23 - TOP_BIT(a);
    if (power > up) return AS_FLOAT(sign_bit | (CAST(uint, power - up) << 23) | ((a << CAST(uint, up)) & 0x007fffffu));
    return AS_FLOAT(sign_bit | (power > 0 ? (a << CAST(uint, power)) >> 1 : a >> 1));
}

// The unary op `op` (BP_OP_* of ops.h) of x with its attributes.
#if !defined( \
    FUNCTION_APART)  // one that is called, not copied to each place: where `op` is not known when the kernel is compiled
#define FUNCTION_APART FUNCTION
#endif
FUNCTION_APART float unary_op(uint op, float x, float a, float b) {
    switch (op) {
        case BP_OP_abs: return AS_FLOAT(AS_UINT(x) & 0x7fffffffu);
        case BP_OP_neg: return AS_FLOAT(AS_UINT(x) ^ 0x80000000u);
        case BP_OP_exp: return exp_(x);
        case BP_OP_log: return log_(x);
        case BP_OP_sqrt: return is_nan(x) ? x : x < 0.0f ? K_NAN : is_infinite(x) || x == 0.0f ? x : ROOT(x);
        case BP_OP_reciprocal: return is_infinite(x) ? AS_FLOAT(AS_UINT(x) & 0x80000000u) : QUOTIENT(1.0f, x);
        case BP_OP_erf: return erf_(x);
        case BP_OP_sin: return sine(x, 0);
        case BP_OP_cos: return sine(x, 1);
        // Compilers make max() of a plain comparison, and lose NaN.
        case BP_OP_relu: return is_nan(x) ? x : x < 0.0f ? 0.0f : x;
        case BP_OP_leaky_relu: return x < 0.0f ? a * x : x;
        case BP_OP_sigmoid: return sigmoid_(x);
        case BP_OP_tanh: return tanh_(x);
        case BP_OP_gelu: return gelu_(x, a);
        case BP_OP_silu: return is_nan(x) || x == K_INFINITY ? x : x * sigmoid_(x);
        case BP_OP_softplus: return is_nan(x) ? x : (x > 0.0f ? x : 0.0f) + log_(1.0f + exp_(-ABS(x)));
        case BP_OP_floor: return is_nan(x) ? x : floor(x);
        case BP_OP_ceil: return is_nan(x) ? x : ceil(x);
        case BP_OP_round: return is_nan(x) ? x : ROUND_EVEN(x);
        case BP_OP_sign: return is_nan(x) ? x : x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f;
        case BP_OP_elu: return x < 0.0f ? a * expm1_below(x) : x;
        case BP_OP_selu: return b * (x < 0.0f ? a * expm1_below(x) : x);
        case BP_OP_hard_sigmoid: {
            float line = a * x + b;
            return is_nan(line) ? line : line < 0.0f ? 0.0f : line > 1.0f ? 1.0f : line;
        }
        case BP_OP_hard_swish: return is_nan(x) || x >= 3.0f ? x : x <= -3.0f ? -0.0f : x * (x + 3.0f) * (1.0f / 6.0f);
        case BP_OP_mish: return mish_(x);
        case BP_OP_clip: {
            float raised = x < a ? a : x;
            return is_nan(x) ? x : raised > b ? b : raised;
        }
    }
    return x;
}
#pragma OPENCL FP_CONTRACT ON
