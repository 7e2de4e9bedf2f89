// What every kernel source includes first: Highway for the one instruction set this translation unit is compiled for.
// Kernels include no other C++ standard header: an inline std:: function compiled for AVX-512 is a weak symbol, and the linker
// may pick it for the baseline path. Everything lives in anonymous namespaces; only BP_CPU_ENTRY functions are external.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "hwy/highway.h"

#define BP_CPU_JOIN_(a, b, c) a##b##_##c
#define BP_CPU_JOIN(a, b, c) BP_CPU_JOIN_(a, b, c)
// The function that fills the table of a family for this instruction set: bp_cpu_conv_avx2(ConvKernels*).
#define BP_CPU_ENTRY(family, Table)                                                     \
    extern "C" void BP_CPU_JOIN(bp_cpu_, family, BP_CPU_LEVEL)(backplane::cpu::Table*); \
    extern "C" void BP_CPU_JOIN(bp_cpu_, family, BP_CPU_LEVEL)(backplane::cpu::Table * table)

namespace {

namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using I = hn::RebindToSigned<F>;
#if HWY_TARGET == HWY_SVE_256 || HWY_TARGET == HWY_SVE2_128
typedef svfloat32_t VF __attribute__((arm_sve_vector_bits(__ARM_FEATURE_SVE_BITS)));  // arrays need a sized type
#else
using VF = hn::Vec<F>;
#endif
constexpr F f{};
// As Highway's own type, which its templates deduce: a sized SVE vector is another.
HWY_INLINE hn::Vec<F> plain(VF v) { return v; }
constexpr int64_t kLanes = HWY_TARGET == HWY_SCALAR ? 1 : HWY_MAX_BYTES / sizeof(float);

// Register blocking of the matrix kernels: a tile is kVectors vectors of columns by rows_of(vectors) rows, and must leave registers
// for the columns' operand and one broadcast. 32 registers: 6x4 = 24 accumulators, and 64 channels are one AVX-512 tile.
// 16 registers: 6x2 = 12. At least 8 accumulators hide a latency of 4 on two FMA pipes.
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_AVX2
constexpr int kVectors = 2;
#else
constexpr int kVectors = 4;
#endif
constexpr int rows_of(int vectors) {
    return kVectors == 2 ? (vectors == 2 ? 6 : 12) : (vectors == 4 ? 6 : vectors == 3 ? 8 : 12);
}
constexpr int64_t kBlock = kVectors * kLanes;  // output channels (columns) of a full tile

// Only these have access to some lanes of floats; others, emulated ones too, read and write the whole vector, the load even aligned: there,
// by way of an array. On x86 a better target has a lower number.
constexpr bool kMaskedAccess = (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || HWY_TARGET == HWY_SVE || HWY_TARGET == HWY_SVE2 ||
                               HWY_TARGET == HWY_SVE_256 || HWY_TARGET == HWY_SVE2_128;

// The first n lanes from `at` (the others zero); n may be kLanes or more. Reads no further than n.
HWY_INLINE VF load_first(const float* at, int64_t n) {
    if (n >= kLanes) return hn::LoadU(f, at);
    if constexpr (kMaskedAccess) {
        return hn::MaskedLoad(hn::FirstN(f, static_cast<size_t>(n)), f, at);
    } else {
        float lane[kLanes] = {};
        for (int64_t i = 0; i < n; ++i) lane[i] = at[i];
        return hn::LoadU(f, lane);
    }
}
HWY_INLINE VF from_int8(const uint8_t* at) {
    const hn::Rebind<int8_t, F> d;
    return hn::ConvertTo(f, hn::PromoteTo(I(), hn::LoadU(d, reinterpret_cast<const int8_t*>(at))));
}
HWY_INLINE VF from_half(const uint8_t* at) {
    const hn::Rebind<hwy::float16_t, F> d;
    return hn::PromoteTo(f, hn::LoadU(d, reinterpret_cast<const hwy::float16_t*>(at)));
}
// Writes the first n lanes only.
HWY_INLINE void store_first(VF v, float* at, int64_t n) {
    if (n >= kLanes) {
        hn::StoreU(v, f, at);
    } else if constexpr (kMaskedAccess) {
        hn::BlendedStore(v, hn::FirstN(f, static_cast<size_t>(n)), f, at);
    } else {
        float lane[kLanes];
        hn::StoreU(v, f, lane);
        for (int64_t i = 0; i < n; ++i) at[i] = lane[i];
    }
}

}  // namespace
