// clang-format off
#include "common.h"
#include "warpgroup.h"
#include "functions.h"
#include "attention_keys.h"
// As attention_matrix.kernel on the matrix units of compute capability 9.0, in the order of FlashAttention-3 (arXiv:2407.08608): the first four
// warps have the device copy tiles of KEYS keys and values, two times four others make 64 rows each. While the units multiply the scores of one tile by
// its values, and queries by the keys of the next, the scores in between are made numbers to multiply by.
// Relative positions come in pieces of KEYS distances: a tile meets three, the rows of four warps two of them, and of each warp a row moves by its own
// distance (add_skewed). Four pieces have a place, the first of those a second one behind the last, so that two which follow each other lie so.
CONSTANT(1, ROWS, 128)
CONSTANT(2, KEYS, 128)
CONSTANT(3, DEPTH, 64)  // of q and k, and WIDTH of v: of 64s; what the heads have not is zero
CONSTANT(4, WIDTH, 64)
CONSTANT(5, RELATIVE, 0)  // 1: there are relative positions, and a pair is one head of q
// Of q, k, v and the result: elements from one row to the next, and where those of a head of this batch begin.
#define PITCH_OF(operand) WORD(ATTENTION_VIEWS + 4u * (operand) + VIEW_ROW)
#define PLACE_IN(operand, head)                                                                                                \
    ((U64)WORD(ATTENTION_VIEWS + 4u * (operand) + VIEW_FIRST) + (U64)(head) * WORD(ATTENTION_VIEWS + 4u * (operand) + VIEW_HEAD) + \
     (U64)batch * WORD(ATTENTION_VIEWS + 4u * (operand) + VIEW_BATCH))
#define LOG2_E 1.4426950408889634f
#define LEAST -1.0e30f  // below any score
#define TILES 2u  // on their way, or used
#define PIECES 4u
#define BYTES_Q (ROWS * DEPTH * 2u)
#define BYTES_K (KEYS * DEPTH * 2u)
#define BYTES_V (KEYS * WIDTH * 2u)
#define BYTES_P (RELATIVE != 0u ? (PIECES + 1u) * BYTES_K : 0u)
#define CHUNK_Q (ROWS * LINE_BYTES)  // 64 elements of each
#define CHUNK_KEYS (KEYS * LINE_BYTES)
#define CHUNK_P ((PIECES + 1u) * CHUNK_KEYS)
#if defined(TRUTH)
#define MASK U8
#define MASKED(v, i) (RAW(mask, i) != 0 ? (v) : -K_INFINITY)
#else
#define MASK T
#define MASKED(v, i) ((v) + LOAD(mask, i))
#endif
static_assert(BYTES_Q + TILES * (BYTES_K + BYTES_V) + BYTES_P + 8u * (1u + 4u * TILES) + 1024u <= SHARED_BYTES, "instances.cmake: shared");
static_assert(ROWS == 128u && KEYS == (RELATIVE != 0u ? 64u : 128u));
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
// Of eight numbers of a row and the eight after them, two of each a lane: the two that are `by` further, by < 8.
WARPGROUP_FUNCTION float2 moved_left(float low_0, float low_1, float high_0, float high_1, uint by, uint lane) {
    uint within = lane % 4u, lanes = by / 2u, more = (by + 1u) / 2u;
    bool odd = by % 2u != 0u;
    float first = within >= lanes ? (odd ? low_1 : low_0) : (odd ? high_1 : high_0);
    float second = within >= more ? (odd ? low_0 : low_1) : (odd ? high_0 : high_1);
    uint quad = lane & ~3u;
    return make_float2(__shfl_sync(0xffffffffu, first, quad | ((within + lanes) & 3u)), __shfl_sync(0xffffffffu, second, quad | ((within + more) & 3u)));
}
// Each score (row, column) of one of four warps gets the product of its row and the piece's distance 63 - row + column. What the warp needs is brought to where
// the last has it, so that all four run the same text: of a text each there were more instructions than the device holds near by.
WARPGROUP_FUNCTION void add_skewed(float (&scores)[KEYS / 2u], const float (&beside)[KEYS], uint warp, uint lane) {
    constexpr uint kHalved = KEYS - 16u, kLeft = kHalved - 8u;
    bool four = (warp & 2u) == 0u, two = (warp & 1u) == 0u;  // eights of columns
    uint by = 7u - lane / 4u;
    float halved[kHalved], left[kLeft];
    UNROLL for (uint i = 0u; i < kHalved; ++i) halved[i] = four ? beside[i + 16u] : beside[i];
    UNROLL for (uint i = 0u; i < kLeft; ++i) left[i] = two ? halved[i + 8u] : halved[i];
    UNROLL for (uint e = 0u; e < KEYS / 8u; ++e)
        UNROLL for (uint r = 0u; r < 2u; ++r) {
            const uint at = (1u - r + e) * 4u + r * 2u;
            float2 own = moved_left(left[at], left[at + 1u], left[at + 4u], left[at + 5u], by, lane);
            scores[e * 4u + r * 2u] += own.x;
            scores[e * 4u + r * 2u + 1u] += own.y;
        }
}
// Each number that an invocation holds: e, in its row r (of two), column `column` of the tile.
#define EACH_OF_64(BODY) UNROLL for (uint e = 0u; e < KEYS / 2u; ++e) { const uint r = e / 2u % 2u; const uint column = e / 4u * 8u + q4 * 2u + e % 2u; BODY }
extern "C" __global__ void __launch_bounds__(LOCAL, 1) ENTRY_NAMED(INSTANCE)(
    PARAMETERS(Attention), const T *q, const T *k, const T *v, const MASK *mask, const int *lengths, const T *positions, const float *biases, T *y,
    const __grid_constant__ TensorMap map_q, const __grid_constant__ TensorMap map_k, const __grid_constant__ TensorMap map_v, const __grid_constant__ TensorMap map_p) {
    HEAD(Attention)
    extern __shared__ char shared[];
    uint at_q = (shared_place(shared) + 1023u) & ~1023u;
    uint at_k = at_q + BYTES_Q, at_v = at_k + TILES * BYTES_K;
    uint at_p = at_v + TILES * BYTES_V;
    uint full_q = at_p + BYTES_P;
    uint full_k = full_q + 8u, full_v = full_k + 8u * TILES, empty_k = full_v + 8u * TILES, empty_v = empty_k + 8u * TILES;
    // Where rows see no keys behind themselves, the last have most to do.
    KEYS_OF_BLOCK((P.blocks - 1u - GROUP_INDEX % P.blocks) * ROWS)
    if (LOCAL_INDEX == 0u) {
        bar_init(full_q, 1u);
        make_ring(full_k, empty_k, TILES, 2u);
        make_ring(full_v, empty_v, TILES, 2u);
        bars_are_made();
    }
    BARRIER;
    uint begin = first_key / KEYS * KEYS;
    uint tiles = last_key > begin ? (last_key - begin + KEYS - 1u) / KEYS : 0u;
    // The position of the block's last row and its first key.
    int lowest = RELATIVE != 0u ? (int)(P.distances / 2u) - start - (int)first_row + (int)begin - (int)(ROWS - 1u) : 0;
    if (LOCAL_INDEX < 128u) {
        fewer_registers();
        bool by_device = ALIGNED_8(q, 0) && ALIGNED_8(k, 0) && ALIGNED_8(v, 0) && (RELATIVE == 0u || ALIGNED_8(positions, 0));
        if (by_device && LOCAL_INDEX != 0u) return;
        // A tile of an operand, `lines` from `first` on, `size` elements each of which `width` have a place: asked for, or copied.
        auto ask = [&](uint bar, uint to, const TensorMap &map, uint apart, uint first, uint head, uint batch, uint width) {
            for (uint c = 0u; c < width / 64u; ++c) copy_box(to + c * apart, map, bar, (int)(c * 64u), (int)first, (int)head, (int)batch);
        };
        auto ask_positions = [&](uint bar, uint to, uint first, uint head) {
            for (uint c = 0u; c < DEPTH / 64u; ++c) copy_box(to + c * CHUNK_P, map_p, bar, c * 64u, first, head);
        };
        auto copy = [&](uint to, const T *p, uint apart, uint lines, uint first, uint end, U64 place, uint pitch, uint size, uint width) {
            for (uint c = 0u; c < width / 64u; ++c) copy_lines(to + c * apart, p, place, lines, first, end, c * 64u, size, pitch);
        };
        uint own_p = pair % P.heads, head_k = own_p / P.sharing;
        // Pieces of positions `from` to `end`, and how many bytes that are.
        auto bytes_of = [](uint from, uint end) { return (end - from + (from % PIECES == 0u || from / PIECES != (end - 1u) / PIECES ? 1u : 0u)) * BYTES_K; };
        auto each_piece = [&](uint from, uint end, const auto &bring) {
            for (uint i = from; i < end; ++i) {
                bring(at_p + i % PIECES * CHUNK_KEYS, (uint)lowest + i * KEYS);
                if (i % PIECES == 0u) bring(at_p + PIECES * CHUNK_KEYS, (uint)lowest + i * KEYS);
            }
        };
        fill(full_q, by_device, BYTES_Q, [&] { ask(full_q, at_q, map_q, CHUNK_Q, first_row, own_p, batch, DEPTH); },
             [&] { copy(at_q, q, CHUNK_Q, ROWS, first_row, P.rows, PLACE_IN(0u, own_p), PITCH_OF(0u), P.depth, DEPTH); });
        for (uint i = 0u; i < tiles; ++i) {
            uint slot = i % TILES, turn = i / TILES % 2u ^ 1u, key = begin + i * KEYS;
            uint bar = full_k + 8u * slot, to = at_k + slot * BYTES_K;
            bar_wait(empty_k + 8u * slot, turn);
            uint from = i == 0u ? 0u : i + 2u, end = RELATIVE != 0u ? i + 3u : from;
            fill(
                bar, by_device, BYTES_K + (RELATIVE != 0u ? bytes_of(from, end) : 0u),
                [&] {
                    ask(bar, to, map_k, CHUNK_KEYS, key, head_k, batch, DEPTH);
                    each_piece(from, end, [&](uint place, uint first) { ask_positions(bar, place, first, own_p); });
                },
                [&] {
                    copy(to, k, CHUNK_KEYS, KEYS, key, P.keys, PLACE_IN(1u, head_k), PITCH_OF(1u), P.depth, DEPTH);
                    each_piece(from, end, [&](uint place, uint first) {
                        copy(place, positions, CHUNK_P, KEYS, first, P.distances, (U64)own_p * P.distances * P.depth, P.depth, P.depth, DEPTH);
                    });
                });
            bar = full_v + 8u * slot, to = at_v + slot * BYTES_V;
            bar_wait(empty_v + 8u * slot, turn);
            fill(bar, by_device, BYTES_V, [&] { ask(bar, to, map_v, CHUNK_KEYS, key, head_k, batch, WIDTH); },
                 [&] { copy(to, v, CHUNK_KEYS, KEYS, key, P.keys, PLACE_IN(2u, head_k), PITCH_OF(2u), P.width, WIDTH); });
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
    float beside[KEYS];  // products of rows and two pieces of positions
    // What biases add (attention_biases) is where sums begin. What stands for a key or a distance that is not there nobody sees: any number of them will do.
    auto begin_scores = [&](uint tile) {
        uint own_keys = pair * P.keys + begin + tile * KEYS + q4 * 2u, of_keys = P.pairs * P.keys, lines = of_keys + P.heads * P.distances;
        int own_distances = (int)(of_keys + pair % P.heads * P.distances + (tile + 1u - own) * KEYS + q4 * 2u) + lowest;
        bool both = P.added == (ATTENTION_BIAS_U | ATTENTION_BIAS_V);
        if (both && own_keys + KEYS <= lines && own_distances >= 0 && (uint)own_distances + 2u * KEYS <= lines) {
            UNROLL for (uint e = 0u; e < KEYS / 2u; ++e) scores[e] = (biases + own_keys)[e / 4u * 8u + e % 2u];
            UNROLL for (uint e = 0u; e < KEYS; ++e) beside[e] = (biases + own_distances)[e / 4u * 8u + e % 2u];
        } else {
            UNROLL for (uint e = 0u; e < KEYS / 2u; ++e)
                scores[e] = (P.added & ATTENTION_BIAS_U) != 0u ? biases[min(own_keys + e / 4u * 8u + e % 2u, lines - 1u)] : 0.0f;
            UNROLL for (uint e = 0u; e < KEYS; ++e)
                beside[e] = (P.added & ATTENTION_BIAS_V) != 0u ? biases[min((uint)max(own_distances + (int)(e / 4u * 8u + e % 2u), 0), lines - 1u)] : 0.0f;
        }
    };
    auto multiply_keys = [&](uint tile) {
        uint slot = tile % TILES;
        if constexpr (RELATIVE != 0u) begin_scores(tile);
        UNITS_BEGIN;
        UNROLL for (uint i = 0u; i < DEPTH / 16u; ++i) {
            U64 left = lines_at(at_q + i / 4u * CHUNK_Q + own * (64u * LINE_BYTES), 0u) + i % 4u * 2u;
            Units<KEYS>::template multiply<0, 0>(scores, left, lines_at(at_k + slot * BYTES_K + i / 4u * CHUNK_KEYS, 0u) + i % 4u * 2u, RELATIVE != 0u || i != 0u);
            if constexpr (RELATIVE != 0u)
                Units<2u * KEYS>::template multiply<0, 0>(beside, left, lines_at(at_p + (tile + 1u - own) % PIECES * CHUNK_KEYS + i / 4u * CHUNK_P, 0u) + i % 4u * 2u, true);
        }
        UNITS_END;
    };
    auto add_beside = [&]() {
        if constexpr (RELATIVE != 0u) add_skewed(scores, beside, LOCAL_INDEX % 128u / 32u, lane);
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
        add_beside();
        weigh(begin);
        round_scores();
        for (uint i = 1u; i < tiles; ++i) {
            uint slot = i % TILES, before = (i - 1u) % TILES;
            bar_wait(full_k + 8u * slot, i / TILES % 2u);
            multiply_keys(i);
            bar_wait(full_v + 8u * before, (i - 1u) / TILES % 2u);
            multiply_values(before);
            UNITS_WAIT(1);
            if (tells) bar_arrive(empty_k + 8u * slot);
            add_beside();
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
    U64 place_y = PLACE_IN(3u, pair % P.heads);
    UNROLL for (uint g = 0u; g < WIDTH / 32u; ++g)
        UNROLL for (uint r = 0u; r < 2u; ++r) {
            uint w[4];
            UNROLL for (uint j = 0u; j < 4u; ++j)
                w[j] = two_halves(sums[g * 16u + j * 4u + r * 2u] * total[r], sums[g * 16u + j * 4u + r * 2u + 1u] * total[r]);
            uint4 whole = whole_eight(w[0], w[1], w[2], w[3], q4);
            uint own_row = row + r * 8u, column = g * 32u + q4 * 8u;
            if (own_row < P.rows && column < P.width) {
                ushort *to = (ushort *)y + place_y + (U64)own_row * PITCH_OF(3u) + column;
                if (eights) *(uint4 *)to = whole;
                else {
                    uint x[4] = {whole.x, whole.y, whole.z, whole.w};
                    UNROLL for (uint i = 0u; i < 8u; ++i) to[i] = (ushort)(x[i / 2u] >> (i % 2u * 16u));
                }
            }
        }
}
