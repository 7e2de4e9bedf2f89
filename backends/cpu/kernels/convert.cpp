#include "kernels/convert.h"

#include "kernels/simd.h"

namespace {

HWY_INLINE uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

HWY_INLINE float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Plain loops without branches: the compiler makes vectors of them.

HWY_INLINE float widen_f16(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
    const uint32_t magnitude = half & 0x7fffu;
    // Exponent rebiased by a multiplication, which also makes normal numbers of the subnormals.
    const float scaled = float_of(magnitude << 13) * 0x1p112f;
    const uint32_t special = 0x7f800000u | magnitude << 13;
    const uint32_t quiet = magnitude > 0x7c00u ? 0x400000u : 0u;
    return float_of(sign | (magnitude >= 0x7c00u ? special | quiet : bits_of(scaled)));
}

HWY_INLINE uint16_t narrow_f16(float value) {
    const uint32_t bits = bits_of(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t sign = bits >> 16 & 0x8000u;
    // Normal results: the bits kept, rounded by adding just under half, and one more when the kept part is odd.
    const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    // Subnormal results: adding 0.5 shifts the bits to keep to the end, and the hardware rounds.
    const uint32_t subnormal = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t finite = magnitude < 113u << 23 ? subnormal : normal;
    const uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x3ffu);
    const uint32_t result = magnitude > 0x7f800000u ? nan : magnitude >= 143u << 23 ? 0x7c00u : finite;
    return static_cast<uint16_t>(sign | result);
}

HWY_INLINE uint16_t narrow_bf16(float value) {
    const uint32_t bits = bits_of(value);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40u : rounded);
}

void f16_to_f32(const uint16_t* in, float* out, int64_t n) {
    int64_t i = 0;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
    const hn::Rebind<hwy::float16_t, F> half;
    for (; i + kLanes <= n; i += kLanes)
        hn::StoreU(hn::PromoteTo(f, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(in + i))), f, out + i);
#endif
    for (; i < n; ++i) out[i] = widen_f16(in[i]);
}

void f32_to_f16(const float* in, uint16_t* out, int64_t n) {
    int64_t i = 0;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
    const hn::Rebind<hwy::float16_t, F> half;
    for (; i + kLanes <= n; i += kLanes)
        hn::StoreU(hn::DemoteTo(half, hn::LoadU(f, in + i)), half, reinterpret_cast<hwy::float16_t*>(out + i));
#endif
    for (; i < n; ++i) out[i] = narrow_f16(in[i]);
}

void bf16_to_f32(const uint16_t* in, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = float_of(static_cast<uint32_t>(in[i]) << 16);
}

void f32_to_bf16(const float* in, uint16_t* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = narrow_bf16(in[i]);
}

void f32_to_q8(const float* in, uint8_t* out, int64_t n) {
    constexpr int64_t kElements = 32;
    for (const float* end = in + n; in < end; in += kElements) {
        float most = 0;
        for (int64_t i = 0; i < kElements; ++i) {
            const float size = float_of(bits_of(in[i]) & 0x7fffffffu);
            most = size > most ? size : most;
        }
        const float scale = most / 127;
        const float inverse = scale != 0 ? 1 / scale : 0;
        const uint16_t half = narrow_f16(scale);
        memcpy(out, &half, sizeof half);
        out += sizeof half;
        for (int64_t i = 0; i < kElements; ++i) {
            const float x = in[i] * inverse;
            const float digit = x > 127 ? 127 : x > -127 ? x : x <= -127 ? -127 : 0;  // of NaN 0
            const auto whole = static_cast<int32_t>(digit);
            const float rest = digit - static_cast<float>(whole);
            out[i] = static_cast<uint8_t>(whole + (rest >= 0.5f) - (rest <= -0.5f));
        }
        out += kElements;
    }
}

}  // namespace

BP_CPU_ENTRY(convert, ConvertKernels) {
    table->f16_to_f32 = f16_to_f32;
    table->f32_to_f16 = f32_to_f16;
    table->bf16_to_f32 = bf16_to_f32;
    table->f32_to_bf16 = f32_to_bf16;
    table->f32_to_q8 = f32_to_q8;
}
