// Gelu, where an instruction picks one of sixteen numbers for each lane.
#pragma once

#include "kernels/functions.h"

namespace {

#if HWY_TARGET == HWY_AVX3

// Phi(a) - 1/2 about a multiple of 0.37, of each power a row: interpolations of our own. From 5.37 on it is 1/2.
alignas(64) constexpr float kNormalIntegral[5][16] = {
    {0, 0.144308761f, 0.270350009f, 0.366500497f, 0.43056339f, 0.467843235f, 0.486790627f, 0.4952012f, 0.498461813f,
     0.49956578f, 0.499892205f, 0.499976486f, 0.4999955f, 0.499999255f, 0.499999881f, 0.5f},
    {0.398938626f, 0.372545809f, 0.303389281f, 0.215460032f, 0.13343747f, 0.0720661506f, 0.0339410007f, 0.0139397336f,
     0.00499248598f, 0.00155921944f, 0.000424639438f, 0.00010084403f, 2.08828715e-05f, 3.77079414e-06f, 5.93703987e-07f, 0},
    {0, -0.0689204857f, -0.112252921f, -0.119578771f, -0.098742336f, -0.0666605085f, -0.0376746282f, -0.0180525072f,
     -0.00738945929f, -0.00259649986f, -0.000785791082f, -0.000205303935f, -4.63892538e-05f, -9.07700723e-06f,
     -1.5396414e-06f, 0},
    {-0.0660654306f, -0.0533002168f, -0.0228735432f, 0.00811505876f, 0.0262201764f, 0.0289466996f, 0.0221941732f,
     0.0133000426f, 0.00650707865f, 0.00265531987f, 0.000914851029f, 0.000268184784f, 6.72403839e-05f, 1.44725818e-05f,
     2.68144572e-06f, 0},
    {0, 0.0163327381f, 0.0228103697f, 0.0175574254f, 0.00668626698f, -0.00228771893f, -0.00600956473f, -0.0055630845f,
     -0.00355151785f, -0.00175860792f, -0.000706171617f, -0.000235132291f, -6.57681012e-05f, -1.5582691e-05f,
     -3.14544604e-06f, 0},
};

// x/2 (1 + erf(x / sqrt 2)) = x/2 + |x| (Phi(|x|) - 1/2), within three units of x. Coefficients are picked by an instruction: all of it takes
// less time than a division.
HWY_INLINE VF v_gelu_picked(VF x) {
    constexpr float kStep = 0.37f;
    x = hn::Max(v_set(-20.0f), x);  // NaN stays, as in v_clamp
    const VF size = hn::Abs(x);
    const VF within = hn::Min(v_set(15 * kStep), size);
    const VF magic = v_set(8388608.0f);
    const VF near = hn::MulAdd(within, v_set(1 / kStep), magic);  // the low bits are the number of the multiple
    const VF u = hn::NegMulAdd(hn::Sub(near, magic), v_set(kStep), within);
    const auto row = [&](int power) HWY_ATTR {
        return VF{_mm512_permutexvar_ps(_mm512_castps_si512(near.raw), _mm512_load_ps(kNormalIntegral[power]))};
    };
    VF p = row(4);
#pragma GCC unroll 4
    for (int power = 3; power >= 0; --power) p = hn::MulAdd(p, u, row(power));
    return hn::MulAdd(size, p, hn::Mul(x, v_set(0.5f)));
}

HWY_INLINE VF f_gelu_here(VF x, float approximate, float) { return approximate != 0 ? v_gelu_tanh(x) : v_gelu_picked(x); }

#else

HWY_INLINE VF f_gelu_here(VF x, float approximate, float beta) { return f_gelu(x, approximate, beta); }

#endif

}  // namespace
