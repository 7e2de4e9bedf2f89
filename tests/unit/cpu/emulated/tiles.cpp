// The kernels of kernels/tiles.cpp on a matrix unit that is none: what Intel's Software Developer's Manual says of each instruction (volume 2,
// TDPBF16PS: sums of even and of odd numbers by fused products, results and operands below the normal numbers are zero).
#include "kernels/simd.h"
#include "kernels/tile_products.h"

namespace {

struct Emulated {
    using Row = uint8_t[64];
    static thread_local Row tiles[8][16];
    static thread_local bool on;

    static thread_local int set;  // 0: nothing, 1: by us, else by others

    struct Config {
        int set;
    };
    static void begin(Config& before) {
        on = true;
        before.set = set;
        set = 1;
    }
    // Whoever reads what he did not put there reads nothing like a number.
    static void end(const Config& before) {
        on = false;
        set = before.set;
        memset(tiles, 0xff, sizeof tiles);
    }
    template <int T>
    static void clear() {
        memset(tiles[T], 0, sizeof tiles[T]);
    }
    template <int T>
    static void load_once(const void* from, int64_t row) {
        load<T>(from, row);
    }
    template <int T>
    static void load(const void* from, int64_t row) {
        for (int i = 0; i < 16; ++i) memcpy(tiles[T][i], static_cast<const uint8_t*>(from) + i * row, sizeof(Row));
    }
    template <int T>
    static void store(void* to, int64_t row) {
        if (!on) __builtin_trap();
        for (int i = 0; i < 16; ++i) memcpy(static_cast<uint8_t*>(to) + i * row, tiles[T][i], sizeof(Row));
    }
    // Of 16 words the even number, or the odd one.
    template <int ODD>
    static __m512 half(__m512i words) {
        if (ODD == 1) return _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32(static_cast<int>(0xffff0000))));
        return _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
    }
    template <int C, int A, int B>
    static void multiply() {
        static_assert(C != A && C != B && A != B);
        if (!on) __builtin_trap();
        const unsigned mode = _mm_getcsr();
        _mm_setcsr(mode | 0x8040);  // operands and results below the normal numbers are zero
        for (int m = 0; m < 16; ++m) {
            __m512 even = _mm512_setzero_ps();
            __m512 odd = even;
            for (int k = 0; k < 16; ++k) {
                int32_t pair;
                memcpy(&pair, tiles[A][m] + 4 * k, sizeof pair);
                const __m512i a = _mm512_set1_epi32(pair);
                const __m512i b = _mm512_loadu_si512(tiles[B][k]);
                even = _mm512_fmadd_ps(half<0>(a), half<0>(b), even);
                odd = _mm512_fmadd_ps(half<1>(a), half<1>(b), odd);
            }
            const __m512 sum = _mm512_loadu_ps(tiles[C][m]);
            _mm512_storeu_ps(tiles[C][m], _mm512_add_ps(sum, _mm512_add_ps(even, odd)));
        }
        _mm_setcsr(mode);
    }
};
thread_local Emulated::Row Emulated::tiles[8][16];
thread_local bool Emulated::on = false;
thread_local int Emulated::set = 0;

}  // namespace

// What this thread's tiles are set to.
extern "C" int* bp_cpu_tiles_emulated_setting() { return &Emulated::set; }

// It costs nothing, so that whatever it can do comes to it.
BP_CPU_ENTRY(tiles, TilesKernels) { fill_tiles<Emulated>(table, {}); }
