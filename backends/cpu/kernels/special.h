// Exponential, logarithm and their kin for one vector, right over the whole range: exp overflows to inf and underflows to 0 through
// the subnormals, log(0) is -inf, log of a negative number is NaN, NaN stays NaN. Relative errors of a few 1e-7.
//
// Polynomials: Moshier, Cephes (single precision); those of erf and erfc are Chebyshev interpolations of our own.
#pragma once

#include <math.h>

#include "kernels/simd.h"

namespace {

HWY_INLINE VF v_set(float value) { return hn::Set(f, value); }

// Horner's rule, highest power first.
HWY_INLINE VF v_polynomial(VF, VF sum) { return sum; }
template <typename... Rest>
HWY_INLINE VF v_polynomial(VF x, VF sum, float next, Rest... rest) {
    return v_polynomial(x, hn::MulAdd(sum, x, v_set(next)), rest...);
}

HWY_INLINE VF v_power_of_two(hn::Vec<I> n) { return hn::BitCast(f, hn::ShiftLeft<23>(hn::Add(n, hn::Set(I(), 127)))); }

// x between low and high; NaN stays NaN: of it, the minimum and maximum of x86 give their second operand. Those of other targets may
// give the other.
HWY_INLINE VF v_clamp(VF x, float low, float high) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
    return hn::Max(v_set(low), hn::Min(v_set(high), x));
#else
    x = hn::IfThenElse(hn::Lt(x, v_set(low)), v_set(low), x);
    return hn::IfThenElse(hn::Gt(x, v_set(high)), v_set(high), x);
#endif
}

#if HWY_TARGET == HWY_AVX3

// exp(x), or exp(-x) with kSign -1, as 2^n 2^r with n + r = x log2(e): rounding to n and scaling by it are an instruction each here, and
// log2(e) in two parts keeps r exact where x is large. Peak relative error 1.0e-7.
template <int kSign>
HWY_INLINE VF v_exp_of(VF x) {
    // Beyond these the result is 0 and inf.
    x = kSign > 0 ? v_clamp(x, -104.0f, 89.0f) : v_clamp(x, -89.0f, 104.0f);
    const VF high = v_set(1.44269502162933349609375f * kSign);
    const VF n{_mm512_roundscale_ps(hn::Mul(x, high).raw, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
    const VF r = hn::MulAdd(x, v_set(1.925962991e-8f * kSign), hn::MulSub(x, high, n));
    const VF p = v_polynomial(r, v_set(1.535336188319500e-4f), 1.339887440266574e-3f, 9.618437357674640e-3f,
                              5.550332471162809e-2f, 2.402264791363012e-1f, 6.931472028550421e-1f, 1.0f);
    return VF{_mm512_scalef_ps(p.raw, n.raw)};
}

#else

// x * 2^n for the n of v_exp_of: 2^128 and 2^-149 have no exponent of their own, and take two factors.
HWY_INLINE VF v_scale(VF x, VF n) {
    const hn::Vec<I> whole = hn::ConvertTo(I(), n);
    const hn::Vec<I> half = hn::ShiftRight<1>(whole);
    return hn::Mul(hn::Mul(x, v_power_of_two(half)), v_power_of_two(hn::Sub(whole, half)));
}

template <int kSign>
HWY_INLINE VF v_exp_of(VF x) {
    if (kSign < 0) x = hn::Neg(x);
    // Beyond these the result is 0 and inf.
    x = v_clamp(x, -104.0f, 89.0f);
    // Adding 1.5 * 2^23 rounds to the nearest integer.
    const VF magic = v_set(12582912.0f);
    const VF n = hn::Sub(hn::MulAdd(x, v_set(1.44269504088896341f), magic), magic);
    VF r = hn::NegMulAdd(n, v_set(0.693359375f), x);
    r = hn::NegMulAdd(n, v_set(-2.12194440e-4f), r);
    const VF p = v_polynomial(r, v_set(1.9875691500e-4f), 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                              1.6666665459e-1f, 5.0000001201e-1f);
    const VF e = hn::Add(hn::MulAdd(hn::Mul(r, r), p, r), v_set(1.0f));
    return v_scale(e, n);
}

#endif

HWY_INLINE VF v_exp(VF x) { return v_exp_of<1>(x); }

// e^x - 1 and its like are not needed; log(x) for every x.
HWY_INLINE VF v_log(VF x) {
    const auto tiny = hn::Lt(x, v_set(1.17549435e-38f));
    const VF scaled = hn::IfThenElse(tiny, hn::Mul(x, v_set(8388608.0f)), x);
    const auto bits = hn::BitCast(I(), scaled);
    // Mantissa in [sqrt(1/2), sqrt(2)): the exponent is that of x / sqrt(1/2).
    const auto offset = hn::Sub(bits, hn::Set(I(), 0x3f3504f3));
    const auto exponent = hn::ShiftRight<23>(offset);
    const VF mantissa = hn::BitCast(f, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
    const VF e = hn::Sub(hn::ConvertTo(f, exponent), hn::IfThenElseZero(tiny, plain(v_set(23.0f))));
    const VF m = hn::Sub(mantissa, v_set(1.0f));
    const VF z = hn::Mul(m, m);
    const VF p = v_polynomial(m, v_set(7.0376836292e-2f), -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f,
                              1.4249322787e-1f, -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f);
    VF y = hn::Mul(hn::Mul(m, z), p);
    y = hn::MulAdd(e, v_set(-2.12194440e-4f), y);
    y = hn::NegMulAdd(v_set(0.5f), z, y);
    VF result = hn::MulAdd(e, v_set(0.693359375f), hn::Add(m, y));
    const VF infinity = v_set(HUGE_VALF);
    result = hn::IfThenElse(hn::Eq(x, infinity), infinity, result);
    result = hn::IfThenElse(hn::Eq(x, hn::Zero(f)), hn::Neg(infinity), result);
    result = hn::IfThenElse(hn::Lt(x, hn::Zero(f)), hn::Sub(infinity, infinity), result);
    return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// log(1 + y) for y in [0, 1], exact in the relative sense for small y (Goldberg 1991, theorem 4).
HWY_INLINE VF v_log1p(VF y) {
    const VF one = v_set(1.0f);
    const VF w = hn::Add(one, y);
    const VF above = hn::Sub(w, one);
    const VF result = hn::Div(hn::Mul(v_log(w), y), above);
    return hn::IfThenElse(hn::Eq(above, hn::Zero(f)), y, result);
}

HWY_INLINE VF v_sigmoid(VF x) {
    const VF one = v_set(1.0f);
    return hn::Div(one, hn::Add(one, v_exp_of<-1>(x)));
}

HWY_INLINE VF v_tanh(VF x) {
    const VF t = hn::Abs(x);
    const VF z = hn::Mul(x, x);
    const VF p = v_polynomial(z, v_set(-5.70498872745e-3f), 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f,
                              -3.33332819422e-1f);
    const VF inner = hn::MulAdd(hn::Mul(z, p), x, x);
    const VF one = v_set(1.0f);
    const VF outer = hn::Sub(one, hn::Div(v_set(2.0f), hn::Add(v_exp(hn::Add(t, t)), one)));
    return hn::IfThenElse(hn::Lt(t, v_set(0.625f)), inner, hn::CopySign(plain(outer), plain(x)));
}

// erfc(t) for t >= 0: exp(-t^2) u Q(u) with u = 1 / (1 + t/2).
HWY_INLINE VF v_erfc_positive(VF t) {
    const VF u = hn::Div(v_set(1.0f), hn::MulAdd(t, v_set(0.5f), v_set(1.0f)));
    const VF q = v_polynomial(u, v_set(0.04535133648724613f), -0.24558003562957648f, 0.5168995388094119f,
                              -0.48247475909085397f, 0.1518851786894635f, -0.06795827493428164f, 0.0958271993014783f,
                              0.1749485963277475f, 0.24691356121700558f, 0.28209286733464756f, 0.28209479965127293f);
    return hn::Mul(hn::Mul(v_exp_of<-1>(hn::Mul(t, t)), u), q);
}

HWY_INLINE VF v_erf(VF x) {
    const VF t = hn::Abs(x);
    const VF z = hn::Mul(x, x);
    const VF inner =
        hn::Mul(x, v_polynomial(z, v_set(7.875875046790626e-05f), -0.0008016864281817756f, 0.0051890874227800456f,
                                -0.026854212010276407f, 0.11283594715152363f, -0.3761262666671963f, 1.1283791658483504f));
    const VF outer = hn::Sub(v_set(1.0f), v_erfc_positive(t));
    return hn::IfThenElse(hn::Lt(t, v_set(1.0f)), inner, hn::CopySign(plain(outer), plain(x)));
}

// Below -20 the factor of x is 0, in both forms, and the limit of the product is -0: minus infinity times 0 is not.
HWY_INLINE VF v_gelu_argument(VF x) { return hn::IfThenElse(hn::Lt(x, v_set(-20.0f)), v_set(-20.0f), x); }

// x/2 (1 + erf(x / sqrt 2)), within a few rounding errors of x; erf as t P(t^2) / Q(t^2), a rational approximation of our own on [0, 4].
HWY_INLINE VF v_gelu_erf(VF x) {
    const VF t = v_clamp(hn::Mul(x, v_set(0.70710678118654752f)), -4.0f, 4.0f);
    const VF z = hn::Mul(t, t);
    const VF p =
        v_polynomial(z, v_set(1.97482586e-06f), 0.000288041309f, 0.00400365191f, 0.0534674972f, 0.196249157f, 1.12837899f);
    const VF q = v_polynomial(z, v_set(3.74808114e-05f), 0.00121636083f, 0.0154444352f, 0.116476499f, 0.507252455f, 1.0f);
    const VF both = hn::Add(v_set(1.0f), hn::Div(hn::Mul(t, p), q));
    // Where nothing is left of 1 + erf, rounding errors would be all.
    const VF factor = hn::IfThenZeroElse(hn::Lt(x, v_set(-5.5f)), plain(both));
    return hn::Mul(hn::Mul(v_gelu_argument(x), v_set(0.5f)), factor);
}

// x/2 (1 + tanh(s)) = x sigmoid(2 s), s = sqrt(2/pi) (x + 0.044715 x^3).
HWY_INLINE VF v_gelu_tanh(VF x) {
    x = v_gelu_argument(x);
    const VF cubic = hn::MulAdd(hn::Mul(x, x), v_set(0.044715f), v_set(1.0f));
    return hn::Mul(x, v_sigmoid(hn::Mul(hn::Mul(x, cubic), v_set(1.5957691216057308f))));
}

// max(x, 0) + log(1 + exp(-|x|))
HWY_INLINE VF v_softplus(VF x) {
    const VF positive = hn::IfThenElse(hn::Lt(x, hn::Zero(f)), hn::Zero(f), x);
    return hn::Add(positive, v_log1p(v_exp_of<-1>(hn::Abs(x))));
}

// The whole number next to x, of two the even one: beside 2^23 floats have no fraction. With the sign of x, and its NaN. Highway's own is, for one
// lane, a function that levels would share.
HWY_INLINE VF v_round(VF x) {
    const VF size = hn::Abs(x);
    const VF magic = v_set(8388608.0f);
    const VF whole = hn::Sub(hn::Add(size, magic), magic);
    const VF negative = hn::Neg(whole);
    const VF near = hn::IfThenElse(hn::Lt(x, v_set(0.0f)), negative, whole);
    const VF moderate = hn::IfThenElse(hn::Lt(size, magic), near, x);
    return hn::IfThenElse(hn::Lt(v_set(0.0f), size), moderate, x);
}
HWY_INLINE VF v_floor(VF x) {
    const VF near = v_round(x);
    const VF below = hn::Sub(near, v_set(1.0f));
    return hn::IfThenElse(hn::Lt(x, near), below, near);
}
HWY_INLINE VF v_ceil(VF x) { return hn::Neg(v_floor(hn::Neg(x))); }

// e^x - 1 for x <= 0 out of the hyperbolic tangent, which keeps its digits near 0.
HWY_INLINE VF v_expm1_below(VF x) {
    const VF t = v_tanh(hn::Mul(x, v_set(0.5f)));
    return hn::Div(hn::Add(t, t), hn::Sub(v_set(1.0f), t));
}

// x tanh(ln(1 + e^x)) = x n / (n + 2), n = e^x (e^x + 2); x from 20 on.
HWY_INLINE VF v_mish(VF x) {
    const VF e = v_exp(v_clamp(x, -110.0f, 20.0f));
    const VF n = hn::Mul(e, hn::Add(e, v_set(2.0f)));
    const VF product =
        hn::Mul(hn::IfThenElse(hn::Lt(x, v_set(-110.0f)), v_set(-110.0f), x), hn::Div(n, hn::Add(n, v_set(2.0f))));
    return hn::IfThenElse(hn::Lt(v_set(20.0f), x), x, product);
}

// Sine of x + quarter * pi/2 for |x| <= 8192, where three parts of pi/2 reduce x exactly enough.
HWY_INLINE VF v_sine_of_moderate(VF x, int quarter) {
    const VF magic = v_set(12582912.0f);
    const VF shifted = hn::MulAdd(x, v_set(0.63661977236758134f), magic);
    const VF n = hn::Sub(shifted, magic);
    const auto quadrant = hn::Add(hn::BitCast(I(), shifted), hn::Set(I(), quarter));  // the low bits of magic are 0
    VF r = hn::NegMulAdd(n, v_set(1.5703125f), x);
    r = hn::NegMulAdd(n, v_set(4.837512969970703125e-4f), r);
    r = hn::NegMulAdd(n, v_set(7.54978995489188216e-8f), r);
    const VF z = hn::Mul(r, r);
    const VF s =
        hn::MulAdd(hn::Mul(r, z), v_polynomial(z, v_set(-1.9515295891e-4f), 8.3321608736e-3f, -1.6666654611e-1f), r);
    const VF c = hn::MulAdd(hn::Mul(z, z),
                            v_polynomial(z, v_set(2.443315711809948e-5f), -1.388731625493765e-3f, 4.166664568298827e-2f),
                            hn::NegMulAdd(z, v_set(0.5f), v_set(1.0f)));
    const auto odd = hn::BitCast(f, hn::ShiftLeft<31>(quadrant));
    const auto negative = hn::And(hn::BitCast(f, hn::ShiftLeft<30>(quadrant)), hn::SignBit(f));
    const VF picked = hn::IfThenElse(hn::MaskFromVec(hn::BitCast(f, hn::BroadcastSignBit(hn::BitCast(I(), odd)))), c, s);
    return hn::Xor(plain(picked), negative);
}

HWY_INLINE VF v_sine(VF x, int quarter) {
    const auto moderate = hn::Le(hn::Abs(x), v_set(8192.0f));
    const VF result = v_sine_of_moderate(x, quarter);
    if (HWY_LIKELY(hn::AllTrue(f, moderate))) return result;
    // Huge, infinite and NaN: the C library reduces with as many digits of pi as it takes.
    float in[kLanes];
    float out[kLanes];
    hn::StoreU(x, f, in);
    for (int64_t i = 0; i < kLanes; ++i) {
        const double v = static_cast<double>(in[i]);
        out[i] = static_cast<float>(quarter == 0 ? sin(v) : cos(v));
    }
    return hn::IfThenElse(moderate, result, hn::LoadU(f, out));
}

}  // namespace
