/* The minimal example without its own descriptor. A variant whose features the CPU lacks must not even be loaded: it dies at once. */
#include "backplane/note.h"
#undef BP_NOTE
#define BP_NOTE(abi, flags, json) extern int variant_no_note
#include "../../examples/minimal-backend/minimal.c"

__attribute__((constructor)) static void use_the_features(void) {
#if defined(__AVX512F__)
    __asm__ volatile("vpxorq %%zmm0, %%zmm0, %%zmm0" ::: "xmm0");
#elif defined(__AVX2__)
    __asm__ volatile("vpaddd %%ymm0, %%ymm0, %%ymm0" ::: "xmm0");
#elif defined(__SSE4_2__)
    __asm__ volatile("pcmpgtq %%xmm0, %%xmm0" ::: "xmm0");
#elif defined(__ARM_FEATURE_SVE2)
    __asm__ volatile("sqrdmlah z0.s, z1.s, z2.s" ::: "v0");
#elif defined(__ARM_FEATURE_SVE)
    __asm__ volatile("add z0.s, z1.s, z2.s" ::: "v0");
#elif defined(__ARM_FEATURE_DOTPROD)
    __asm__ volatile("udot v0.4s, v1.16b, v2.16b" ::: "v0");
#endif
}
