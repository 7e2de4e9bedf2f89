// clang-format off
#include "matrices.h"
#include "common.h"
#include "functions.h"
#include "attention_keys.h"
#include "slices.h"
// As attention.kernel, of halves on the matrix units, in the order of FlashAttention-2 (arXiv:2307.08691): a warp makes 16 rows and all their
// columns, scores and sums stay in its registers. KEYS keys and values stand in shared memory at a time; while they are used, the next are on
// their way. Scores are in units of log2(e).
// Relative positions: a tile meets those of ROWS + KEYS - 1 distances, which slide along a ring of lines in shared memory, KEYS further with each
// tile. A warp multiplies its rows by KEYS + 16 of them and moves each row of the product by its own distance (ADD_SKEWED). What biases add
// (attention_biases) is where sums begin.
CONSTANT(1, ROWS, 64)  // 16 a warp
CONSTANT(2, KEYS, 64)
CONSTANT(3, DEPTH, 64)  // of q and k, and WIDTH of v: of 16s; what the heads have not is zero
CONSTANT(4, WIDTH, 64)
CONSTANT(5, RELATIVE, 0)  // 1: there are relative positions, and a pair is one head of q; ROWS is a multiple of KEYS
#define LOG2_E 1.4426950408889634f
#define LEAST -1.0e30f  // below any score
#define WARPS (LOCAL / 32u)
#define EIGHTS_OF(n) ((n) <= 16 ? 2u : (n) <= 32 ? 4u : (n) <= 64 ? 8u : 16u)
#define EIGHTS_K EIGHTS_OF(DEPTH)
#define EIGHTS_V EIGHTS_OF(WIDTH)
#define SLICE_K (KEYS * PITCH(EIGHTS_K))
#define SLICE (SLICE_K + KEYS * PITCH(EIGHTS_V))
#define LINES (ROWS + 2u * KEYS)  // of positions
#define FROM_POSITIONS (2u * SLICE)
#define BEHIND (FROM_POSITIONS + (RELATIVE != 0 ? LINES * PITCH(EIGHTS_K) : 0u))
#if defined(MATRICES_STAY)
#define FROM_Q BEHIND
#define TILE_P (FROM_Q + ROWS * PITCH(EIGHTS_K))
#define EXCHANGED (RELATIVE != 0 ? SKEWED_SPACE : 32u)
#define ALL_SLICES (TILE_P + WARPS * EXCHANGED)
#else  // q leaves shared memory before the first keys come
#define FROM_Q 0u
#define TILE_P 0u
#define EXCHANGED 0u
#define ALL_SLICES BEHIND
#endif
#if defined(TRUTH)
#define MASK U8
#define MASKED(v, i) (RAW(mask, i) != 0 ? (v) : -K_INFINITY)
#else
#define MASK T
#define MASKED(v, i) ((v) + LOAD(mask, i))
#endif
#if !defined(COPY_8)
#define COPY_8(shared, to, p, i, there) BY_ELEMENTS(p)
#define COPIES_END
#define COPIES_WAIT(n)
#endif
// `lines` rows of p from `first` on, of which those before `end` are there, `size` elements each: to shared memory from `to` on, a line of
// `eights` each. `first_of_all`: where the first row of all is in p.
#define ASK(p, first_of_all, first, lines, end, size, eights, to)                                         \
    UNROLL_MATRICES for (uint i_ = 0u; i_ < (lines) * (eights); i_ += LOCAL) {                            \
        uint line_ = (i_ + LOCAL_INDEX) / (eights);                                                       \
        uint eight_ = (i_ + LOCAL_INDEX) % (eights);                                                      \
        bool there_ = (first) + line_ < (end) && eight_ * 8u < (size);                                    \
        uint at_ = (first_of_all) + (there_ ? ((first) + line_) * (size) + eight_ * 8u : 0u);             \
        uint place_ = (to) + SLOT(line_, eight_, eights);                                                 \
        if (line_ < (lines)) {                                                                            \
            if (aligned) { COPY_8(slices, place_, p, at_, there_); }                                      \
            else { BY_ELEMENTS(p) }                                                                       \
        }                                                                                                 \
    }
#define ASK_KEYS(first, to)                                                           \
    ASK(k, first_k, first, KEYS, last_key, P.depth, EIGHTS_K, to)                     \
    ASK(v, first_v, first, KEYS, last_key, P.width, EIGHTS_V, (to) + SLICE_K)         \
    COPIES_END;
#define WRAPPED_LINE(line) ((line) < LINES ? (line) : (line) - LINES)
#define EACH_SCORE(BODY)                                                                          \
    UNROLL_MATRICES for (uint j = 0u; j < KEYS / 16u; ++j)                                        \
        UNROLL_MATRICES for (uint r = 0u; r < HELD_ROWS; ++r)                                     \
            UNROLL_MATRICES for (uint c = 0u; c < HELD_COLUMNS; ++c) { BODY }
// The positions of one more tile, from `place` on.
#define ASK_POSITIONS(place, line) \
    ASK(positions, first_p, place, KEYS, P.distances, P.depth, EIGHTS_K, FROM_POSITIONS + (line) * PITCH(EIGHTS_K))
KERNEL_8(attention_matrix, Attention, (READ, q, T), (READ, k, T), (READ, v, T), (READ, mask, MASK), (READ, lengths, int), (READ, positions, T), (READ, biases, float), (WRITE, y, T))
SHARED(uint4, slices, ALL_SLICES)
#if defined(MATRICES_STAY)
SHARED(float, exchange, LOCAL)
#endif
BEGIN
    KEYS_OF_BLOCK(GROUP_INDEX % P.blocks * ROWS)
    uint first_q = pair * P.rows * P.depth;
    uint first_k = pair / P.sharing * P.keys * P.depth;
    uint first_v = pair / P.sharing * P.keys * P.width;
    uint first_p = pair % P.heads * P.distances * P.depth;
    bool aligned = ALIGNED_8(q, 0) && ALIGNED_8(k, 0) && ALIGNED_8(v, 0) && (RELATIVE == 0 || ALIGNED_8(positions, 0));
    ASK(q, first_q, first_row, ROWS, P.rows, P.depth, EIGHTS_K, FROM_Q)
    COPIES_END;
    COPIES_WAIT(0);
    BARRIER;
    MATRIX_A own_q[DEPTH / 16u];
    UNROLL_MATRICES for (uint d = 0u; d < DEPTH / 16u; ++d)
        LOAD_SLICE_A(own_q[d], slices, FROM_Q, WARP_INDEX * 16u, d * 2u, EIGHTS_K, false);
    BARRIER;

    // Up to where all rows see all keys, and nothing else is done to a score.
    uint plain = P.causal != 0u ? min(last_key, CAST(uint, max(early + 1, 0))) : last_key;
    if (P.softcap != 0.0f || P.masked != 0u || window != 0) plain = 0u;
    float most[HELD_ROWS];
    float total[HELD_ROWS];
    uint mask_at[HELD_ROWS];
    int place[HELD_ROWS];
    UNROLL_MATRICES for (uint r = 0u; r < HELD_ROWS; ++r) {
        uint row = first_row + WARP_INDEX * 16u + HELD_ROW(r);
        most[r] = LEAST;
        total[r] = 0.0f;
        place[r] = start + CAST(int, row % P.queries);
        mask_at[r] = MASK_OF(pair, min(row, P.rows - 1u));
    }
    MATRIX_SUM sums[WIDTH / 16u];
    UNROLL_MATRICES for (uint n = 0u; n < WIDTH / 16u; ++n) CLEAR_SUM(sums[n]);
    uint key = first_key / KEYS * KEYS;
    uint from = 0u;
    // The position of the block's last row and the tile's first key, which line 0 of the ring has for the first tile; `turn`: which has it now.
    uint lowest = P.distances / 2u - CAST(uint, start) - first_row + key - (ROWS - 1u);
    uint turn = 0u;
    uint bias_k = pair * P.keys;
    uint bias_p = P.pairs * P.keys + pair % P.heads * P.distances;
    if (key < last_key) {
        if (RELATIVE != 0) {
            for (uint line = 0u; line < ROWS + KEYS; line += KEYS) { ASK_POSITIONS(lowest + line, line) }
        }
        ASK_KEYS(key, from)
    }
    for (; key < last_key; key += KEYS) {
        COPIES_WAIT(0);
        BARRIER;
        if (key + KEYS < last_key) {
            if (RELATIVE != 0) { ASK_POSITIONS(lowest + ROWS + KEYS, WRAPPED_LINE(turn + ROWS + KEYS)) }
            ASK_KEYS(key + KEYS, SLICE - from)
        }
        MATRIX_SUM scores[KEYS / 16u];
        UNROLL_MATRICES for (uint j = 0u; j < KEYS / 16u; ++j) CLEAR_SUM(scores[j]);
        if (RELATIVE != 0) {
            if ((P.added & ATTENTION_BIAS_U) != 0u) {
                EACH_SCORE(HELD(scores[j], r, c) = biases[bias_k + min(key + j * 16u + HELD_COLUMN(c), P.keys - 1u)];)
            }
            MATRIX_SUM beside[2];  // of places that follow each other, sixteen each
            UNROLL_MATRICES for (uint j = 0u; j <= KEYS / 16u; ++j) {
                uint own = ROWS - 16u - WARP_INDEX * 16u + j * 16u;
                CLEAR_SUM(beside[j % 2u]);
                if ((P.added & ATTENTION_BIAS_V) != 0u) {
                    UNROLL_MATRICES for (uint c = 0u; c < HELD_COLUMNS; ++c) {
                        uint at = lowest + own + HELD_COLUMN(c);
                        float bias = biases[bias_p + (at < P.distances ? at : 0u)];
                        UNROLL_MATRICES for (uint r = 0u; r < HELD_ROWS; ++r) HELD(beside[j % 2u], r, c) = bias;
                    }
                }
                UNROLL_MATRICES for (uint d = 0u; d < DEPTH / 16u; ++d) {
                    MATRIX_B right;
                    LOAD_SLICE_B(right, slices, FROM_POSITIONS, WRAPPED_LINE(turn + own), d * 2u, EIGHTS_K, true);
                    MULTIPLY(beside[j % 2u], own_q[d], right);
                }
                if (j > 0u) ADD_SKEWED(scores[j - 1u], beside[(j - 1u) % 2u], beside[j % 2u], slices, TILE_P + WARP_INDEX * EXCHANGED);
            }
            lowest += KEYS;
            turn = WRAPPED_LINE(turn + KEYS);
        }
        UNROLL_MATRICES for (uint d = 0u; d < DEPTH / 16u; ++d)
            UNROLL_MATRICES for (uint j = 0u; j < KEYS / 16u; ++j) {
                MATRIX_B right;
                LOAD_SLICE_B(right, slices, from, j * 16u, d * 2u, EIGHTS_K, true);
                MULTIPLY(scores[j], own_q[d], right);
            }
        if (key + KEYS <= plain) {
            EACH_SCORE(HELD(scores[j], r, c) *= P.scale * LOG2_E;)
        } else {
            EACH_SCORE(
                float x = HELD(scores[j], r, c) * P.scale;
                if (P.softcap != 0.0f) x = P.softcap * tanh_(x / P.softcap);
                uint own = key + j * 16u + HELD_COLUMN(c);
                bool seen = own < last_key && SEES(place[r], own);
                if (seen && P.masked != 0u) x = MASKED(x, mask_at[r] + own * P.mask_key);
                HELD(scores[j], r, c) = seen ? x * LOG2_E : -K_INFINITY;)
        }
        float factor[HELD_ROWS];
        UNROLL_MATRICES for (uint r = 0u; r < HELD_ROWS; ++r) {
            float next = most[r];
            UNROLL_MATRICES for (uint j = 0u; j < KEYS / 16u; ++j)
                UNROLL_MATRICES for (uint c = 0u; c < HELD_COLUMNS; ++c) next = fmax(next, HELD(scores[j], r, c));
            BESIDE(next, fmax, exchange)
            factor[r] = native_exp2(most[r] - next);
            most[r] = next;
            total[r] *= factor[r];
        }
        EACH_SCORE(
            float x = native_exp2(HELD(scores[j], r, c) - most[r]);
            total[r] += x;
            HELD(scores[j], r, c) = x;)
        UNROLL_MATRICES for (uint n = 0u; n < WIDTH / 16u; ++n)
            UNROLL_MATRICES for (uint r = 0u; r < HELD_ROWS; ++r)
                UNROLL_MATRICES for (uint c = 0u; c < HELD_COLUMNS; ++c) HELD(sums[n], r, c) *= factor[r];
        UNROLL_MATRICES for (uint j = 0u; j < KEYS / 16u; ++j) {
            MATRIX_A left;
            ROUNDED_LEFT(left, scores[j], slices, TILE_P + WARP_INDEX * EXCHANGED);
            UNROLL_MATRICES for (uint n = 0u; n < WIDTH / 16u; ++n) {
                MATRIX_B right;
                LOAD_SLICE_B(right, slices, from + SLICE_K, j * 16u, n * 2u, EIGHTS_V, false);
                MULTIPLY(sums[n], left, right);
            }
        }
        from = SLICE - from;
    }
    BARRIER;
    UNROLL_MATRICES for (uint r = 0u; r < HELD_ROWS; ++r) {
        BESIDE(total[r], SUM_OF_TWO, exchange)
        total[r] = total[r] == 0.0f ? 0.0f : 1.0f / total[r];
    }
    uint mine = WARP_INDEX * 16u * STAGE;
    UNROLL_MATRICES for (uint n = 0u; n < WIDTH / 16u; ++n) {
        UNROLL_MATRICES for (uint r = 0u; r < HELD_ROWS; ++r)
            UNROLL_MATRICES for (uint c = 0u; c < HELD_COLUMNS; ++c) HELD(sums[n], r, c) *= total[r];
        STORE_SUM(sums[n], slices, mine, STAGE);
        WARP_BARRIER;
        UNROLL for (uint e = 0u; e < 2u; ++e) {
            uint row = LANE_INDEX / 4u + e * 8u;
            uint column = n * 16u + LANE_INDEX % 4u * 4u;
            uint own = first_row + WARP_INDEX * 16u + row;
            if (own < P.rows && column < P.width)
                STORE_4(y, (pair * P.rows + own) * P.width + column, STAGED_4(slices, mine, STAGE, row, LANE_INDEX % 4u),
                        CAST(int, P.width) - CAST(int, column));
        }
        WARP_BARRIER;
    }
END
