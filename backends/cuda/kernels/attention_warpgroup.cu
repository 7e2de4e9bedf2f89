// clang-format off
#include "common.h"
#include "warpgroup.h"
#undef FUNCTION
#undef FUNCTION_APART
#define FUNCTION static __device__ __forceinline__  // a call would have sums leave the units' registers
#define FUNCTION_APART FUNCTION
#include "functions.h"
#include "attention_keys.h"
// As attention_matrix.kernel without relative positions, on the matrix units of compute capability 9.0, in the order of FlashAttention-3
// (arXiv:2407.08608): the first four warps have the device copy tiles of KEYS keys and values, two times four others make 64 rows each. While the units
// multiply the scores of one tile by its values, and queries by the keys of the next, the scores in between are made numbers to multiply by.
CONSTANT(1, ROWS, 128)
CONSTANT(2, KEYS, 128)
CONSTANT(3, DEPTH, 64)  // of q and k, and WIDTH of v: of 64s; what the heads have not is zero
CONSTANT(4, WIDTH, 64)
#define LOG2_E 1.4426950408889634f
#define LEAST -1.0e30f  // below any score
#define TILES 2u  // on their way, or used
#define BYTES_Q (ROWS * DEPTH * 2u)
#define BYTES_K (KEYS * DEPTH * 2u)
#define BYTES_V (KEYS * WIDTH * 2u)
#define CHUNK_Q (ROWS * LINE_BYTES)  // 64 elements of each
#define CHUNK_KEYS (KEYS * LINE_BYTES)
#if defined(TRUTH)
#define MASK U8
#define MASKED(v, i) (RAW(mask, i) != 0 ? (v) : -K_INFINITY)
#else
#define MASK T
#define MASKED(v, i) ((v) + LOAD(mask, i))
#endif
static_assert(BYTES_Q + TILES * (BYTES_K + BYTES_V) + 8u * (1u + 4u * TILES) + 1024u <= SHARED_BYTES, "instances.cmake: shared");
static_assert(ROWS == 128u && KEYS == 128u);
WARPGROUP_FUNCTION float exp2_nearly(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
WARPGROUP_FUNCTION float of_row(float v, bool most) {  // of the four invocations that share a row
    float other = __shfl_xor_sync(0xffffffffu, v, 1);
    v = most ? fmaxf(v, other) : v + other;
    other = __shfl_xor_sync(0xffffffffu, v, 2);
    return most ? fmaxf(v, other) : v + other;
}
// Each number that an invocation holds: e, in its row r (of two), column `column` of the tile.
#define EACH_OF_64(BODY) UNROLL for (uint e = 0u; e < KEYS / 2u; ++e) { const uint r = e / 2u % 2u; const uint column = e / 4u * 8u + q4 * 2u + e % 2u; BODY }
extern "C" __global__ void __launch_bounds__(LOCAL, 1) ENTRY_NAMED(INSTANCE)(
    PARAMETERS(Attention), const T *q, const T *k, const T *v, const MASK *mask, const int *lengths, const T *, const float *, T *y,
    const __grid_constant__ TensorMap map_q, const __grid_constant__ TensorMap map_k, const __grid_constant__ TensorMap map_v) {
    HEAD(Attention)
    extern __shared__ char shared[];
    uint at_q = (shared_place(shared) + 1023u) & ~1023u;
    uint at_k = at_q + BYTES_Q, at_v = at_k + TILES * BYTES_K;
    uint full_q = at_v + TILES * BYTES_V;
    uint full_k = full_q + 8u, full_v = full_k + 8u * TILES, empty_k = full_v + 8u * TILES, empty_v = empty_k + 8u * TILES;
    // Where rows see no keys behind themselves, the last have most to do.
    KEYS_OF_BLOCK((P.blocks - 1u - GROUP_INDEX % P.blocks) * ROWS)
    if (LOCAL_INDEX == 0u) {
        bar_init(full_q, 1u);
        for (uint i = 0u; i < TILES; ++i) {
            bar_init(full_k + 8u * i, 1u);
            bar_init(full_v + 8u * i, 1u);
            bar_init(empty_k + 8u * i, 2u);
            bar_init(empty_v + 8u * i, 2u);
        }
        bars_are_made();
    }
    BARRIER;
    uint begin = first_key / KEYS * KEYS;
    uint tiles = last_key > begin ? (last_key - begin + KEYS - 1u) / KEYS : 0u;
    if (LOCAL_INDEX < 128u) {
        fewer_registers();
        bool by_device = ALIGNED_8(q, 0) && ALIGNED_8(k, 0) && ALIGNED_8(v, 0);
        if (by_device && LOCAL_INDEX != 0u) return;
        // A tile of an operand, `lines` from `first` on, `size` elements each of which `width` have a place.
        auto bring = [&](uint bar, uint to, const T *p, const TensorMap &map, uint lines, uint first, uint end, uint size, uint width, uint bytes) {
            if (by_device) {
                bar_expect(bar, bytes);
                for (uint c = 0u; c < width / 64u; ++c) copy_box(to + c * lines * LINE_BYTES, map, bar, c * 64u, first, pair);
            } else {
                for (uint c = 0u; c < width / 64u; ++c) copy_lines(to + c * lines * LINE_BYTES, p, (U64)pair * end * size, lines, first, end, c * 64u, size);
                written_for_units();
                asm volatile("bar.sync 1, 128;" ::: "memory");
                if (LOCAL_INDEX == 0u) bar_arrive(bar);
            }
        };
        bring(full_q, at_q, q, map_q, ROWS, first_row, P.rows, P.depth, DEPTH, BYTES_Q);
        for (uint i = 0u; i < tiles; ++i) {
            uint slot = i % TILES, turn = i / TILES % 2u ^ 1u;
            bar_wait(empty_k + 8u * slot, turn);
            bring(full_k + 8u * slot, at_k + slot * BYTES_K, k, map_k, KEYS, begin + i * KEYS, P.keys, P.depth, DEPTH, BYTES_K);
            bar_wait(empty_v + 8u * slot, turn);
            bring(full_v + 8u * slot, at_v + slot * BYTES_V, v, map_v, KEYS, begin + i * KEYS, P.keys, P.width, WIDTH, BYTES_V);
        }
        return;
    }
    more_registers();
    uint own = LOCAL_INDEX / 128u - 1u, lane = LOCAL_INDEX % 32u, q4 = lane % 4u;
    uint row = first_row + own * 64u + LOCAL_INDEX % 128u / 32u * 16u + lane / 4u;
    bool tells = LOCAL_INDEX % 128u == 0u;
    uint plain = P.causal != 0u ? min(last_key, CAST(uint, max(early + 1, 0))) : last_key;
    if (P.softcap != 0.0f || P.masked != 0u || window != 0 || P.scale < 0.0f) plain = 0u;
    float most[2] = {LEAST, LEAST}, total[2] = {0.0f, 0.0f}, factor[2];
    uint mask_at[2];
    int place[2];
    UNROLL for (uint r = 0u; r < 2u; ++r) {
        place[r] = start + CAST(int, (row + 8u * r) % P.queries);
        mask_at[r] = MASK_OF(pair, min(row + 8u * r, P.rows - 1u));
    }
    float scores[KEYS / 2u];
    uint left[KEYS / 16u][4];
    float sums[WIDTH / 2u];
    UNROLL for (uint i = 0u; i < WIDTH / 2u; ++i) sums[i] = 0.0f;
    auto multiply_keys = [&](uint slot) {
        UNITS_BEGIN;
        UNROLL for (uint i = 0u; i < DEPTH / 16u; ++i)
            Units<KEYS>::template multiply<0, 0>(scores, lines_at(at_q + i / 4u * CHUNK_Q + own * (64u * LINE_BYTES), 0u) + i % 4u * 2u,
                                                 lines_at(at_k + slot * BYTES_K + i / 4u * CHUNK_KEYS, 0u) + i % 4u * 2u, i != 0u);
        UNITS_END;
    };
    auto multiply_values = [&](uint slot) {
        UNITS_BEGIN;
        UNROLL for (uint i = 0u; i < KEYS / 16u; ++i)
            Units<WIDTH>::template multiply<1>(sums, left[i], lines_at(at_v + slot * BYTES_V, CHUNK_KEYS) + i * (16u * LINE_BYTES / 16u), true);
        UNITS_END;
    };
    // Scores of the tile from `key` on as what values are multiplied by, and what sums so far are.
    auto weigh = [&](uint key) {
        float unit = P.scale * LOG2_E;
        if (key + KEYS > plain) {
            if (P.softcap != 0.0f) {
                float x[KEYS / 2u];
                UNROLL for (uint e = 0u; e < KEYS / 2u; ++e) x[e] = scores[e];
                UNROLL_STEPS for (uint e = 0u; e < KEYS / 2u; ++e) x[e] = P.softcap * tanh_(x[e] * P.scale / P.softcap);
                UNROLL for (uint e = 0u; e < KEYS / 2u; ++e) scores[e] = x[e];
            } else {
                UNROLL for (uint e = 0u; e < KEYS / 2u; ++e) scores[e] *= P.scale;
            }
            EACH_OF_64(
                uint at = key + column;
                bool seen = at < last_key && SEES(place[r], at);
                float x = scores[e];
                if (seen && P.masked != 0u) x = MASKED(x, mask_at[r] + at * P.mask_key);
                scores[e] = seen ? x * LOG2_E : -K_INFINITY;)
            unit = 1.0f;
        }
        float next[2] = {-K_INFINITY, -K_INFINITY};
        EACH_OF_64(next[r] = fmaxf(next[r], scores[e]);)
        UNROLL for (uint r = 0u; r < 2u; ++r) {
            next[r] = fmaxf(most[r], of_row(next[r], true) * unit);
            factor[r] = exp2_nearly(most[r] - next[r]);
            most[r] = next[r];
            total[r] *= factor[r];
        }
        EACH_OF_64(
            scores[e] = exp2_nearly(fmaf(scores[e], unit, -most[r]));
            total[r] += scores[e];)
    };
    auto round_scores = [&]() {
        UNROLL for (uint i = 0u; i < KEYS / 16u; ++i)
            UNROLL for (uint j = 0u; j < 4u; ++j) left[i][j] = two_halves(scores[i * 8u + j * 2u], scores[i * 8u + j * 2u + 1u]);
    };
    // Values of keys that nobody sees may be anything: zeros, as what they are multiplied by.
    auto clear_unseen = [&](uint key, uint slot) {
        if (key + KEYS <= last_key || last_key >= P.keys) return;
        for (uint i = (LOCAL_INDEX - 128u) + (last_key - key) * 8u; i < KEYS * 8u; i += 256u)
            UNROLL for (uint c = 0u; c < WIDTH / 64u; ++c)
                asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(at_v + slot * BYTES_V + c * CHUNK_KEYS + i * 16u), "r"(0u) : "memory");
        written_for_units();
        asm volatile("bar.sync 2, 256;" ::: "memory");
    };
    if (tiles != 0u) {
        bar_wait(full_q, 0u);
        bar_wait(full_k, 0u);
        multiply_keys(0u);
        UNITS_WAIT(0);
        if (tells) bar_arrive(empty_k);
        weigh(begin);
        round_scores();
        for (uint i = 1u; i < tiles; ++i) {
            uint slot = i % TILES, before = (i - 1u) % TILES;
            bar_wait(full_k + 8u * slot, i / TILES % 2u);
            multiply_keys(slot);
            bar_wait(full_v + 8u * before, (i - 1u) / TILES % 2u);
            multiply_values(before);
            UNITS_WAIT(1);
            if (tells) bar_arrive(empty_k + 8u * slot);
            weigh(begin + i * KEYS);
            UNITS_WAIT(0);
            if (tells) bar_arrive(empty_v + 8u * before);
            UNROLL for (uint e = 0u; e < WIDTH / 2u; ++e) sums[e] *= factor[e / 2u % 2u];
            round_scores();
        }
        uint last = tiles - 1u, slot = last % TILES;
        bar_wait(full_v + 8u * slot, last / TILES % 2u);
        clear_unseen(begin + last * KEYS, slot);
        multiply_values(slot);
        UNITS_WAIT(0);
    }
    UNROLL for (uint r = 0u; r < 2u; ++r) {
        total[r] = of_row(total[r], false);
        total[r] = total[r] == 0.0f ? 0.0f : 1.0f / total[r];
    }
    bool eights = ALIGNED_8(y, 0);
    UNROLL for (uint g = 0u; g < WIDTH / 32u; ++g)
        UNROLL for (uint r = 0u; r < 2u; ++r) {
            uint w[4];
            UNROLL for (uint j = 0u; j < 4u; ++j)
                w[j] = two_halves(sums[g * 16u + j * 4u + r * 2u] * total[r], sums[g * 16u + j * 4u + r * 2u + 1u] * total[r]);
            uint4 whole = whole_eight(w[0], w[1], w[2], w[3], q4);
            uint own_row = row + r * 8u, column = g * 32u + q4 * 8u;
            if (own_row < P.rows && column < P.width) {
                ushort *to = (ushort *)y + ((U64)pair * P.rows + own_row) * P.width + column;
                if (eights) *(uint4 *)to = whole;
                else {
                    uint x[4] = {whole.x, whole.y, whole.z, whole.w};
                    UNROLL for (uint i = 0u; i < 8u; ++i) to[i] = (ushort)(x[i / 2u] >> (i % 2u * 16u));
                }
            }
        }
}
