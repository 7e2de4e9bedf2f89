#include "kernels/tiles.h"

#include "kernels/simd.h"

#if HWY_TARGET == HWY_AVX3 && defined(__AVX512BF16__) && defined(__AMX_BF16__)

#include "kernels/tile_products.h"

namespace {

// Written as instructions, for the compiler's own functions of g++ 12 do not say that they read and write memory.
struct MatrixUnit {
    struct alignas(64) Config {
        uint8_t palette = 1, start_row = 0, reserved[14] = {};
        uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
        uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    };
    static_assert(sizeof(Config) == 64);
    // All eight tiles whole; Intel's Software Developer's Manual, volume 1, chapter 18. `before`: what others have set on this thread.
    static void begin(Config& before) {
        static constexpr Config kConfig{};
        __asm__ volatile("sttilecfg %0" : "=m"(before));
        __asm__ volatile("ldtilecfg %0" ::"m"(kConfig));
    }
    // As it was, for ggml's module sets it once a thread; where nothing was set, nothing of the registers is saved when the thread is not on.
    static void end(const Config& before) {
        if (before.palette == 0)
            __asm__ volatile("tilerelease" ::: "memory");
        else
            __asm__ volatile("ldtilecfg %0" ::"m"(before) : "memory");
    }

    template <int T>
    static HWY_INLINE void clear() {
        __asm__ volatile("tilezero %%tmm%c0" ::"i"(T));
    }
    template <int T>
    static HWY_INLINE void load(const void* from, int64_t row) {
        __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(row), "i"(T) : "memory");
    }
    template <int T>
    static HWY_INLINE void load_once(const void* from, int64_t row) {
        __asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(row), "i"(T) : "memory");
    }
    template <int T>
    static HWY_INLINE void store(void* to, int64_t row) {
        __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(row), "i"(T) : "memory");
    }
    template <int C, int A, int B>
    static HWY_INLINE void multiply() {
        __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
    }
};

}  // namespace

// Of a Sapphire Rapids (docs/benchmarks.md).
BP_CPU_ENTRY(tiles, TilesKernels) {
    fill_tiles<MatrixUnit>(table, {.product = 1.0 / 160, .decode = 0.15, .element = 0.1, .plane = 0.15});
}

#else

BP_CPU_ENTRY(tiles, TilesKernels) { *table = {}; }

#endif
