// Elementary functions to a few units of the last place. The language promises far less (sin: an absolute error of 2^-11).
// Ranges are reduced and polynomials are those of the Cephes library.
#define kInfinity uintBitsToFloat(0x7f800000u)
#define kNan uintBitsToFloat(0x7fc00000u)

bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
bool is_infinite(float x) { return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u; }

// x * 2^n in two steps: neither factor leaves the range of float.
float scale_by_power(float x, int n) {
    int half_n = n >> 1;
    return x * uintBitsToFloat(uint(half_n + 127) << 23) * uintBitsToFloat(uint(n - half_n + 127) << 23);
}

// e^r, |r| <= ln(2) / 2
float exp_reduced(float r) {
    float y = 1.9875691500e-4;
    y = y * r + 1.3981999507e-3;
    y = y * r + 8.3334519073e-3;
    y = y * r + 4.1665795894e-2;
    y = y * r + 1.6666665459e-1;
    y = y * r + 5.0000001201e-1;
    return y * (r * r) + r + 1.0;
}

float exp_(float x) {
    if (is_nan(x)) return x;
    float c = x > 90.0 ? 90.0 : x < -120.0 ? -120.0 : x;
    precise float n = floor(c * 1.44269504088896341 + 0.5);
    precise float r = c - n * 0.693359375;
    r = r + n * 2.12194440e-4;
    float y = scale_by_power(exp_reduced(r), int(n));
    return x > 89.0 ? kInfinity : x < -110.0 ? 0.0 : y;
}

// ln(m * 2^e) of x = m * 2^e, sqrt(1/2) <= m < sqrt(2); returns ln(m), e by reference. x > 0 and finite.
float log_reduced(float x, out float e) {
    int shift = 0;
    if (x < 1.17549435e-38) {
        x *= 8388608.0;
        shift = 23;
    }
    uint bits = floatBitsToUint(x);
    int power = int(bits >> 23) - 126 - shift;
    float m = uintBitsToFloat((bits & 0x007fffffu) | 0x3f000000u);
    if (m < 0.707106781186547524) {
        power -= 1;
        m = m + m;
    }
    m -= 1.0;
    e = float(power);
    return m;
}

float log_polynomial(float m) {
    float z = m * m;
    float y = 7.0376836292e-2;
    y = y * m - 1.1514610310e-1;
    y = y * m + 1.1676998740e-1;
    y = y * m - 1.2420140846e-1;
    y = y * m + 1.4249322787e-1;
    y = y * m - 1.6668057665e-1;
    y = y * m + 2.0000714765e-1;
    y = y * m - 2.4999993993e-1;
    y = y * m + 3.3333331174e-1;
    return y * m * z;
}

float log_(float x) {
    if (is_nan(x)) return x;
    if (x < 0.0) return kNan;
    if (x == 0.0) return -kInfinity;
    if (is_infinite(x)) return x;
    float e;
    float m = log_reduced(x, e);
    precise float y = log_polynomial(m);
    y = y - 2.12194440e-4 * e;
    y = y - 0.5 * (m * m);
    y = m + y;
    y = y + 0.693359375 * e;
    return y;
}

// log2 of a positive finite number.
float log2_(float x) {
    float e;
    float m = log_reduced(x, e);
    precise float y = log_polynomial(m) - 0.5 * (m * m);
    // log2(e) = 1 + 0.4426950408889634
    precise float z = y * 0.44269504088896341 + m * 0.44269504088896341;
    z = z + y;
    z = z + m;
    return z + e;
}

float pow_(float x, float y) {
    if (y == 0.0 || x == 1.0) return 1.0;
    if (is_nan(x) || is_nan(y)) return kNan;
    float a = abs(x);
    bool whole = is_infinite(y) || floor(y) == y;
    bool odd = whole && abs(y) < 16777216.0 && (uint(abs(y)) & 1u) == 1u;
    float sign_of = (floatBitsToUint(x) >> 31) == 1u && odd ? -1.0 : 1.0;
    if (is_infinite(y)) return a == 1.0 ? 1.0 : (a > 1.0) == (y > 0.0) ? kInfinity : 0.0;
    if (a == 0.0) return sign_of * (y < 0.0 ? kInfinity : 0.0);
    if (is_infinite(a)) return sign_of * (y > 0.0 ? kInfinity : 0.0);
    if (x < 0.0 && !whole) return kNan;
    precise float t = y * log2_(a);
    if (t > 129.0) return sign_of * kInfinity;
    if (t < -152.0) return sign_of * 0.0;
    precise float n = floor(t + 0.5);
    precise float r = (t - n) * 0.69314718055994531;
    return sign_of * scale_by_power(exp_reduced(r), int(n));
}

// Sine of x, or of x + a quarter turn.
float sine(float x, int quarter) {
    if (is_nan(x) || is_infinite(x)) return kNan;
    precise float n = floor(x * 0.63661977236758134 + 0.5);
    precise float r = x - n * 1.5703125;
    r = r - n * 4.837512969970703125e-4;
    r = r - n * 7.54978995489188216e-8;
    r = clamp(r, -1.0, 1.0);
    int q = int(n - 4.0 * floor(n * 0.25)) + quarter;
    float z = r * r;
    float y;
    if ((q & 1) == 0) {
        y = ((-1.9515295891e-4 * z + 8.3321608736e-3) * z - 1.6666654611e-1) * z * r + r;
    } else {
        y = ((2.443315711809948e-5 * z - 1.388731625493765e-3) * z + 4.166664568298827e-2) * z * z - 0.5 * z + 1.0;
    }
    return (q & 2) == 0 ? y : -y;
}

float tanh_(float x) {
    if (is_nan(x)) return x;
    float a = abs(x);
    if (a < 0.625) {
        float z = x * x;
        float y = -5.70498872745e-3;
        y = y * z + 2.06390887954e-2;
        y = y * z - 5.37397155531e-2;
        y = y * z + 1.33314422036e-1;
        y = y * z - 3.33332819422e-1;
        return y * z * x + x;
    }
    float y = a > 10.0 ? 1.0 : 1.0 - 2.0 / (exp_(2.0 * a) + 1.0);
    return x < 0.0 ? -y : y;
}

float erf_(float x) {
    if (is_nan(x)) return x;
    float a = abs(x);
    if (a < 1.0) {
        float z = x * x;
        float y = 7.853861353153693e-5;
        y = y * z - 8.010193625184903e-4;
        y = y * z + 5.188327685732524e-3;
        y = y * z - 2.685381193529856e-2;
        y = y * z + 1.128358514861418e-1;
        y = y * z - 3.761262582423300e-1;
        y = y * z + 1.128379165726710e0;
        return x * y;
    }
    float y = 1.0;
    if (a < 6.0) {
        float q = 1.0 / a;
        float z = q * q;
        float p;
        if (a < 2.0) {
            p = 2.326819970068386e-2;
            p = p * z - 1.387039388740657e-1;
            p = p * z + 3.687424674597105e-1;
            p = p * z - 5.824733027278666e-1;
            p = p * z + 6.210004621745983e-1;
            p = p * z - 4.944515323274145e-1;
            p = p * z + 3.404879937665872e-1;
            p = p * z - 2.741127028184656e-1;
            p = p * z + 5.638259427386472e-1;
        } else {
            p = -1.047766399936249e+1;
            p = p * z + 1.297719955372516e+1;
            p = p * z - 7.495518717768503e+0;
            p = p * z + 2.921019019210786e+0;
            p = p * z - 1.015265279202700e+0;
            p = p * z + 4.218463358204948e-1;
            p = p * z - 2.820767439740514e-1;
            p = p * z + 5.641895067754075e-1;
        }
        y = 1.0 - exp_(-a * a) * q * p;
    }
    return x < 0.0 ? -y : y;
}

float sigmoid_(float x) {
    if (is_nan(x)) return x;
    return x < -88.0 ? exp_(x) : 1.0 / (1.0 + exp_(-x));
}

float gelu_(float x, float tanh_form) {
    if (is_nan(x)) return x;
    if (x == 0.0 || x == kInfinity) return x;
    if (x == -kInfinity) return -0.0;
    if (tanh_form != 0.0) {
        float inner = 0.79788456080286536 * (x + 0.044715 * x * x * x);
        return 0.5 * x * (1.0 + tanh_(inner));
    }
    return 0.5 * x * (1.0 + erf_(x * 0.70710678118654752));
}

// The unary op `op` (BP_OP_* of ops.h) of x with its attributes.
float unary(uint op, float x, float a, float b) {
    switch (op) {
        case BP_OP_abs: return uintBitsToFloat(floatBitsToUint(x) & 0x7fffffffu);
        case BP_OP_neg: return uintBitsToFloat(floatBitsToUint(x) ^ 0x80000000u);
        case BP_OP_exp: return exp_(x);
        case BP_OP_log: return log_(x);
        case BP_OP_sqrt: return is_nan(x) ? x : x < 0.0 ? kNan : is_infinite(x) || x == 0.0 ? x : sqrt(x);
        case BP_OP_reciprocal: return is_infinite(x) ? uintBitsToFloat(floatBitsToUint(x) & 0x80000000u) : 1.0 / x;
        case BP_OP_erf: return erf_(x);
        case BP_OP_sin: return sine(x, 0);
        case BP_OP_cos: return sine(x, 1);
        // Compilers make max() of a plain comparison, and lose NaN.
        case BP_OP_relu: return is_nan(x) ? x : x < 0.0 ? 0.0 : x;
        case BP_OP_leaky_relu: return x < 0.0 ? a * x : x;
        case BP_OP_sigmoid: return sigmoid_(x);
        case BP_OP_tanh: return tanh_(x);
        case BP_OP_gelu: return gelu_(x, a);
        case BP_OP_silu: return is_nan(x) || x == kInfinity ? x : x * sigmoid_(x);
        case BP_OP_softplus: return is_nan(x) ? x : (x > 0.0 ? x : 0.0) + log_(1.0 + exp_(-abs(x)));
        case BP_OP_clip: {
            float raised = x < a ? a : x;
            return is_nan(x) ? x : raised > b ? b : raised;
        }
    }
    return x;
}
