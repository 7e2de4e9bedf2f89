// Functions of one vector, used by the element-wise kernels and by the epilogues of convolution and matrix product.
#pragma once

#include "kernels/simd.h"
#include "kernels/special.h"

namespace {

HWY_INLINE VF f_abs(VF x, float, float) { return hn::Abs(x); }
HWY_INLINE VF f_neg(VF x, float, float) { return hn::Neg(x); }
HWY_INLINE VF f_exp(VF x, float, float) { return v_exp(x); }
HWY_INLINE VF f_log(VF x, float, float) { return v_log(x); }
HWY_INLINE VF f_sqrt(VF x, float, float) { return hn::Sqrt(x); }
HWY_INLINE VF f_reciprocal(VF x, float, float) { return hn::Div(hn::Set(f, 1.0f), x); }
// NaN stays NaN: x is the second operand of Max's x86 instruction.
HWY_INLINE VF f_relu(VF x, float, float) { return hn::IfThenElse(hn::Lt(x, hn::Zero(f)), hn::Zero(f), x); }
HWY_INLINE VF f_leaky_relu(VF x, float alpha, float) {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(f)), hn::Mul(x, hn::Set(f, alpha)), x);
}
HWY_INLINE VF f_sigmoid(VF x, float, float) { return v_sigmoid(x); }
HWY_INLINE VF f_tanh(VF x, float, float) { return v_tanh(x); }
HWY_INLINE VF f_erf(VF x, float, float) { return v_erf(x); }
HWY_INLINE VF f_sin(VF x, float, float) { return v_sine(x, 0); }
HWY_INLINE VF f_cos(VF x, float, float) { return v_sine(x, 1); }
HWY_INLINE VF f_gelu(VF x, float approximate, float) { return approximate != 0 ? v_gelu_tanh(x) : v_gelu_erf(x); }
HWY_INLINE VF f_softplus(VF x, float, float) { return v_softplus(x); }
HWY_INLINE VF f_silu(VF x, float, float) { return hn::Div(x, hn::Add(v_set(1.0f), v_exp_of<-1>(x))); }
HWY_INLINE VF f_floor(VF x, float, float) { return v_floor(x); }
HWY_INLINE VF f_ceil(VF x, float, float) { return v_ceil(x); }
HWY_INLINE VF f_round(VF x, float, float) { return v_round(x); }
HWY_INLINE VF f_sign(VF x, float, float) {
    const VF zero = hn::Zero(f);
    const VF positive = hn::IfThenElse(hn::Lt(zero, x), v_set(1.0f), zero);
    const VF sign = hn::IfThenElse(hn::Lt(x, zero), v_set(-1.0f), positive);
    return hn::IfThenElse(hn::IsNaN(x), x, sign);
}
HWY_INLINE VF f_elu(VF x, float alpha, float) {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(f)), hn::Mul(hn::Set(f, alpha), v_expm1_below(x)), x);
}
HWY_INLINE VF f_selu(VF x, float alpha, float gamma) { return hn::Mul(hn::Set(f, gamma), f_elu(x, alpha, 0)); }
HWY_INLINE VF f_hard_sigmoid(VF x, float alpha, float beta) {
    return v_clamp(hn::MulAdd(x, hn::Set(f, alpha), hn::Set(f, beta)), 0.0f, 1.0f);
}
// Where the factor is 0 or 1 nothing is multiplied: 0 * infinity would be NaN.
HWY_INLINE VF f_hard_swish(VF x, float, float) {
    const VF inner = hn::Mul(hn::Mul(x, hn::Add(x, hn::Set(f, 3.0f))), hn::Set(f, 1.0f / 6.0f));
    const VF below = hn::IfThenElse(hn::Le(x, v_set(-3.0f)), v_set(-0.0f), inner);
    return hn::IfThenElse(hn::Lt(x, v_set(3.0f)), below, x);
}
HWY_INLINE VF f_mish(VF x, float, float) { return v_mish(x); }
HWY_INLINE VF f_clip(VF x, float least, float most) {
    const VF low = hn::Set(f, least);
    const VF high = hn::Set(f, most);
    const VF raised = hn::IfThenElse(hn::Lt(x, low), low, x);
    return hn::IfThenElse(hn::Gt(raised, high), high, raised);
}
HWY_INLINE VF f_add(VF x, VF y) { return hn::Add(x, y); }
HWY_INLINE VF f_sub(VF x, VF y) { return hn::Sub(x, y); }
HWY_INLINE VF f_mul(VF x, VF y) { return hn::Mul(x, y); }
HWY_INLINE VF f_div(VF x, VF y) { return hn::Div(x, y); }
// NaN in either operand gives NaN, as the reference does.
HWY_INLINE VF f_max(VF x, VF y) { return hn::IfThenElse(hn::Or(hn::Gt(x, y), hn::IsNaN(x)), x, y); }
HWY_INLINE VF f_min(VF x, VF y) { return hn::IfThenElse(hn::Or(hn::Lt(x, y), hn::IsNaN(x)), x, y); }

HWY_INLINE VF f_p_relu(VF x, VF slope) { return hn::IfThenElse(hn::Lt(x, hn::Zero(f)), hn::Mul(x, slope), x); }

}  // namespace
