// clang-format off
#include "matrices.h"
#include "float_parts.h"
#include "common.h"
#include "functions.h"
#include "attention_keys.h"
#include "attention_floats.h"
#include "slices.h"
// As attention_matrix, of f32: a float, scaled by a power of two, is the sum of two halves (float_parts.h), and of a product of two floats three
// products of halves are made; that of the low parts is as small as what f32 leaves out. A unit cuts off where it adds, so that sums are made of a
// tile of keys at a time. Keys and values pass through registers on their way to shared memory, where they stand as parts: one tile is used, the next
// is put beside it. One scale each for q, k and v brings what is largest to 2^13; it is measured at the first tile, and again where a tile has larger
// ones. Where four that follow each other are so much smaller that their parts lack digits, and where a row comes out as no number, rows are made again
// as they are written.
// RELATIVE: of relative positions a tile meets those of ROWS + ALL_KEYS - 1 distances, which slide along a ring of lines in shared memory as in
// attention_matrix; their parts have the scale of the keys, so that both sums are one, and q stands there twice, with what is added for keys and for
// positions. TILES is 1 then.
CONSTANT(1, ROWS, 64)
CONSTANT(2, KEYS, 32)
CONSTANT(3, DEPTH, 64)  // of q and k, and WIDTH of v: of 16s; what the heads have not is zero
CONSTANT(4, WIDTH, 64)
CONSTANT(5, TILES, 1)  // of 16 rows, which a warp makes; where all warps make more than ROWS, several share them, each with keys of its own
#define DOWN (ROWS / (TILES * 16u))  // warps
#define SHARES (LOCAL / 32u / DOWN)
#define ALL_KEYS (KEYS * SHARES)  // in shared memory at a time
#define SIXTEENS (KEYS / 16u)
#define DEEP (DEPTH / 4u)
#define ACROSS (WIDTH / 4u)
#define EIGHTS_OF(n) ((n) <= 16 ? 2u : (n) <= 32 ? 4u : (n) <= 64 ? 8u : 16u)
#define EIGHTS_K EIGHTS_OF(DEPTH)
#define EIGHTS_V EIGHTS_OF(WIDTH)
#define PART_K (ALL_KEYS * PITCH(EIGHTS_K))
#define PART_V (ALL_KEYS * PITCH(EIGHTS_V))
#define PART_Q (ROWS * PITCH(EIGHTS_K))
#define FROM_V (2u * PART_K)
#define SLICE (2u * (PART_K + PART_V))
#define FROM_Q (2u * SLICE)
#define FROM_P (FROM_Q + 4u * PART_Q)
#define LINES ((ROWS + ALL_KEYS - 1u) / ALL_KEYS * ALL_KEYS + 2u * ALL_KEYS)  // of positions
#define PART_P (LINES * PITCH(EIGHTS_K))
#define MET (ROWS + ALL_KEYS)  // by a tile
#define WRAPPED_LINE(line) ((line) < LINES ? (line) : (line) - LINES)
#define HELD_OF_LANE (TILES * (HELD_ROWS * 2u + WIDTH / 2u))  // what a lane brings to those that share its rows
#define ALL_PARTS (RELATIVE ? FROM_P + 2u * PART_P : FROM_Q + 2u * PART_Q)
#define MERGED (SHARES > 1u ? LOCAL / 4u * HELD_OF_LANE : 0u)
#define BEHIND (ALL_PARTS > MERGED ? ALL_PARTS : MERGED)
#if defined(MATRICES_STAY)
#define OF_SCORES (TILES * SIXTEENS * 64u)
#define SPACE_P (RELATIVE && SKEWED_SPACE > OF_SCORES ? SKEWED_SPACE : OF_SCORES)  // of a warp
#define TAIL (BEHIND + LOCAL / 32u * SPACE_P)
#else
#define SPACE_P 0u
#define TAIL BEHIND
#endif
#define TOLD(i) STAGED(tiles, TAIL, 0u, 0u, i)
#define AGAIN TOLD(MOST_WRITERS * 4u)  // the round whose tile is to be measured
#define LACKING TOLD(MOST_WRITERS * 4u + 1u)
#define MOST_FOURS FOURS_OF(ALL_KEYS, DEEP > ACROSS ? DEEP : ACROSS)
#define FOURS_OF(lines, fours) (((lines) * (fours) + LOCAL - 1u) / LOCAL)  // that an invocation brings
#define FOUR_OR_ZEROS(p, i, there) (!(there) ? ALL_4(0.0f) : aligned ? LOAD_FOUR(p, i) : ONE_BY_ONE(p, i))
#define EACH_FOUR(lines, fours, BODY)                                               \
    UNROLL_MATRICES for (uint i_ = 0u; i_ < FOURS_OF(lines, fours); ++i_) {         \
        uint line_ = (i_ * LOCAL + LOCAL_INDEX) / (fours);                          \
        uint four_ = (i_ * LOCAL + LOCAL_INDEX) % (fours);                          \
        BODY                                                                        \
    }
// Rows `first` and after it, of which those before `end` are there, of `size` elements each.
#define TAKE(own, p, first_of_all, first, lines, end, size, fours)                                  \
    EACH_FOUR(lines, fours,                                                                         \
        bool there_ = line_ < (lines) && (first) + line_ < (end) && four_ * 4u < (size);            \
        uint at_ = (first_of_all) + (there_ ? ((first) + line_) * (size) + four_ * 4u : 0u);        \
        own[i_] = FOUR_OR_ZEROS(p, at_, there_);)
// The same where all are there, and follow each other as they are taken.
#define TAKE_WHOLE(own, p, first_of_all, first, lines, size, fours)                                 \
    UNROLL_MATRICES for (uint i_ = 0u; i_ < FOURS_OF(lines, fours); ++i_)                           \
        own[i_] = LOAD_FOUR(p, (first_of_all) + (first) * (size) + LOCAL_INDEX * 4u + i_ * (LOCAL * 4u));
#define TAKE_KEYS(own, p, first_of_all, first, size, SIZE, fours)                                   \
    if (full && (first) + ALL_KEYS <= last_key) {                                                   \
        TAKE_WHOLE(own, p, first_of_all, first, ALL_KEYS, SIZE, fours)                              \
    } else {                                                                                        \
        TAKE(own, p, first_of_all, first, ALL_KEYS, last_key, size, fours)                          \
    }
#define TAKE_K(own, first) TAKE_KEYS(own, k, first_k, first, P.depth, DEPTH, DEEP)
#define TAKE_V(own, first) TAKE_KEYS(own, v, first_v, first, P.width, WIDTH, ACROSS)
#define TAKE_P(own, first, lines) TAKE(own, positions, first_p, first, lines, P.distances, P.depth, DEEP)
#define PUT_P(own, line, lines) PUT(own, lines, DEEP, EIGHTS_K, scale_k, FROM_P + (line) * PITCH(EIGHTS_K), PART_P)
// What is added to rows of q, of zeros where there is nothing.
#define ADD_TO_ROWS(own, bias, flag)                                                                \
    if ((P.added & flag) != 0u) {                                                                   \
        EACH_FOUR(ROWS, DEEP,                                                                       \
            bool there_ = four_ * 4u < P.depth;                                                     \
            uint at_ = pair % P.heads * P.depth + (there_ ? four_ * 4u : 0u);                       \
            own[i_] += FOUR_OR_ZEROS(bias, at_, there_);)                                           \
    }
#define PUT_K(own, to) PUT(own, ALL_KEYS, DEEP, EIGHTS_K, scale_k, to, PART_K)
#define PUT_V(own, to) PUT(own, ALL_KEYS, ACROSS, EIGHTS_V, scale_v, (to) + FROM_V, PART_V)
#define FINITE(x) (ABS(x) <= 3.402823466e38f ? ABS(x) : 0.0f)
#define LARGEST(most, own, lines, fours)                                                                                    \
    UNROLL_MATRICES for (uint i_ = 0u; i_ < FOURS_OF(lines, fours); ++i_)                                                   \
        most = fmax(most, fmax(fmax(FINITE(own[i_].x), FINITE(own[i_].y)), fmax(FINITE(own[i_].z), FINITE(own[i_].w))));
// To shared memory from `to` on, the low parts `part` further.
#define PUT(own, lines, fours, eights, by, to, part)                                                \
    EACH_FOUR(lines, fours,                                                                         \
        float4 v_ = own[i_] * (by);                                                                 \
        float most_ = fmax(fmax(ABS(v_.x), ABS(v_.y)), fmax(ABS(v_.z), ABS(v_.w)));                 \
        largest = max(largest, AS_UINT(most_));                                                     \
        least = min(least, AS_UINT(most_) - 1u);                                                    \
        if ((lines) * (fours) % LOCAL == 0u || line_ < (lines))                                     \
            PUT_HALVES(tiles, (to) + SLOT(line_, four_ / 2u, eights), part, four_ % 2u, v_);)
#define EACH_TILE UNROLL_MATRICES for (uint m = 0u; m < TILES; ++m)
#define EACH_ROW UNROLL_MATRICES for (uint r = 0u; r < HELD_ROWS * TILES; ++r)
#define EACH_SIXTEEN UNROLL_MATRICES for (uint j = 0u; j < SIXTEENS; ++j)
#define EACH_HELD UNROLL_MATRICES for (uint c = 0u; c < HELD_COLUMNS; ++c)
#define SCORE(r, j, c) HELD(scores[(r) / HELD_ROWS * SIXTEENS + (j)], (r) % HELD_ROWS, c)
#define SUM(r, n, c) HELD(sums[(r) / HELD_ROWS * (WIDTH / 16u) + (n)], (r) % HELD_ROWS, c)
#define ROW_OF(r) (first_row + own_rows + (r) / HELD_ROWS * 16u + HELD_ROW((r) % HELD_ROWS))
#define HELD_PLACE(r, n, c) (HELD_ROWS * TILES * 2u + ((r) * (WIDTH / 16u) + (n)) * HELD_COLUMNS + (c))
#define COLUMN_OF(n, c) ((n) * 16u + HELD_COLUMN(c))
#define COLUMN_OF_ELEMENT(e) COLUMN_OF((e) / HELD_COLUMNS, (e) % HELD_COLUMNS)
// sum += left * right of all tiles, of parts
#define MULTIPLY_PARTS_OF(sum, left_high, left_low, right_high, right_low) \
    EACH_TILE MULTIPLY(sum, left_low, right_high);                         \
    EACH_TILE MULTIPLY(sum, left_high, right_low);                         \
    EACH_TILE MULTIPLY(sum, left_high, right_high);
#if RELATIVE
#define OF_POSITIONS(text) text
// What places that follow each other, sixteen each, add to scores.
#define ADD_POSITIONS                                                                                          \
    MATRIX_SUM of_places[SIXTEENS + 1u];                                                                       \
    UNROLL_MATRICES for (uint j = 0u; j <= SIXTEENS; ++j) CLEAR_SUM(of_places[j]);                             \
    UNROLL_MATRICES for (uint d = 0u; d < DEPTH / 16u; ++d) {                                                  \
        MATRIX_A r_high, r_low;                                                                                \
        LOAD_SLICE_A(r_high, tiles, FROM_Q + 2u * PART_Q, own_rows, d * 2u, EIGHTS_K, false);                  \
        LOAD_SLICE_A(r_low, tiles, FROM_Q + 3u * PART_Q, own_rows, d * 2u, EIGHTS_K, false);                   \
        UNROLL_MATRICES for (uint j = 0u; j <= SIXTEENS; ++j) {                                                \
            MATRIX_B high, low;                                                                                \
            uint line = WRAPPED_LINE(turn + (ROWS - 16u - own_rows) + share + j * 16u);                        \
            LOAD_SLICE_B(high, tiles, FROM_P, line, d * 2u, EIGHTS_K, true);                                   \
            LOAD_SLICE_B(low, tiles, FROM_P + PART_P, line, d * 2u, EIGHTS_K, true);                           \
            MULTIPLY(of_places[j], r_low, high);                                                               \
            MULTIPLY(of_places[j], r_high, low);                                                               \
            MULTIPLY(of_places[j], r_high, high);                                                              \
        }                                                                                                      \
    }                                                                                                          \
    EACH_SIXTEEN ADD_SKEWED(scores[j], of_places[j], of_places[j + 1u], tiles, BEHIND + WARP_INDEX * SPACE_P);
KERNEL_9(attention_parts_relative, Attention, (READ, q, T), (READ, k, T), (READ, v, T), (READ, mask, U8), (READ, lengths, int), (READ, positions, T), (READ, bias_u, T), (READ, bias_v, T), (WRITE, y, T))
READ_IN_FOURS(6, positions)
READ_IN_FOURS(7, bias_u)
READ_IN_FOURS(8, bias_v)
#else
#define OF_POSITIONS(text)
#define ADD_POSITIONS
KERNEL_6(attention_parts, Attention, (READ, q, T), (READ, k, T), (READ, v, T), (READ, mask, U8), (READ, lengths, int), (WRITE, y, T))
#endif
READ_IN_FOURS(1, q)
READ_IN_FOURS(2, k)
READ_IN_FOURS(3, v)
SHARED(uint4, tiles, TAIL + MOST_WRITERS + 1u)
#if defined(MATRICES_STAY)
SHARED(float, exchange, LOCAL)
#endif
BEGIN
    KEYS_OF_BLOCK(GROUP_INDEX % P.blocks * ROWS)
    uint first_q = pair * P.rows * P.depth;
    uint first_k = pair / P.sharing * P.keys * P.depth;
    uint first_v = pair / P.sharing * P.keys * P.width;
    bool aligned = ALIGNED_4(q) && ALIGNED_4(k) && ALIGNED_4(v);
    OF_POSITIONS(aligned = aligned && ALIGNED_4(positions) && ALIGNED_4(bias_u) && ALIGNED_4(bias_v);
                 uint first_p = pair % P.heads * P.distances * P.depth;)
    uint key = first_key / ALL_KEYS * ALL_KEYS;
    uint share = WARP_INDEX / DOWN * KEYS;  // the own keys, of those in shared memory
    uint own_rows = WARP_INDEX % DOWN * (TILES * 16u);
    bool full = aligned && P.depth == DEPTH && P.width == WIDTH && ALL_KEYS * DEEP % LOCAL == 0u && ALL_KEYS * ACROSS % LOCAL == 0u;
    uint largest = 0u;
    uint least = 0xffffffffu;
#if RELATIVE
    // The position of the block's last row and the tile's first key, and which line has it.
    uint lowest = P.distances / 2u - CAST(uint, start) - first_row + key - (ROWS - 1u);
    uint turn = 0u;
#endif
    float scale_k, scale_v, unit;  // unit: of a score, in units of log2(e)
    {
        float4 own_q[FOURS_OF(ROWS, DEEP)];
        float4 own_k[FOURS_OF(ALL_KEYS, DEEP)];
        float4 own_v[FOURS_OF(ALL_KEYS, ACROSS)];
        TAKE(own_q, q, first_q, first_row, ROWS, P.rows, P.depth, DEEP)
        TAKE_K(own_k, key)
        TAKE_V(own_v, key)
        float most_q = 0.0f, most_k = 0.0f, most_v = 0.0f;
        OF_POSITIONS(float4 own_r[FOURS_OF(ROWS, DEEP)];
                     float4 own_p[FOURS_OF(MET, DEEP)];
                     TAKE_P(own_p, lowest, MET)
                     UNROLL_MATRICES for (uint i = 0u; i < FOURS_OF(ROWS, DEEP); ++i) own_r[i] = own_q[i];
                     ADD_TO_ROWS(own_q, bias_u, ATTENTION_BIAS_U)
                     ADD_TO_ROWS(own_r, bias_v, ATTENTION_BIAS_V)
                     LARGEST(most_q, own_r, ROWS, DEEP)
                     LARGEST(most_k, own_p, MET, DEEP))
        LARGEST(most_q, own_q, ROWS, DEEP)
        LARGEST(most_k, own_k, ALL_KEYS, DEEP)
        LARGEST(most_v, own_v, ALL_KEYS, ACROSS)
        if (LOCAL_INDEX == 0u) AGAIN = LACKING = 0.0f;
        MOST_OF_ALL(most_q, most_k, most_v)
        scale_k = SCALE_FOR(most_k);
        scale_v = SCALE_FOR(most_v);
        float scale_q = SCALE_FOR(most_q);
        unit = P.scale * LOG2_E * RECIPROCAL(scale_q);
        PUT(own_q, ROWS, DEEP, EIGHTS_K, scale_q, FROM_Q, PART_Q)
        OF_POSITIONS(PUT(own_r, ROWS, DEEP, EIGHTS_K, scale_q, FROM_Q + 2u * PART_Q, PART_Q)
                     PUT_P(own_p, 0u, MET))
        PUT_K(own_k, 0u)
        PUT_V(own_v, 0u)
        if (least < TOO_SMALL) LACKING = 1.0f;
    }
    // Up to where all rows see all keys, and nothing else is done to a score.
    uint plain = P.causal != 0u ? min(last_key, CAST(uint, max(early + 1, 0))) : last_key;
    if (P.softcap != 0.0f || P.masked != 0u || window != 0 || P.scale < 0.0f) plain = 0u;
    float most[HELD_ROWS * TILES];
    float base[HELD_ROWS * TILES];  // an exponential of which is 2^14; -infinity: nothing was seen
    float total[HELD_ROWS * TILES];
    float factor[HELD_ROWS * TILES];
    EACH_ROW {
        most[r] = base[r] = -K_INFINITY;
        total[r] = 0.0f;
    }
    MATRIX_SUM sums[TILES * WIDTH / 16u];
    UNROLL_MATRICES for (uint n = 0u; n < TILES * WIDTH / 16u; ++n) CLEAR_SUM(sums[n]);
    uint from = 0u;
    float round = 1.0f;
    for (; key < last_key; key += ALL_KEYS) {
        BARRIER;
        if (AGAIN == round) {
            float4 own[MOST_FOURS];
            float most_k = 0.0f, most_v = 0.0f, none = 0.0f;
            TAKE_K(own, key)
            LARGEST(most_k, own, ALL_KEYS, DEEP)
            OF_POSITIONS(float4 own_p[FOURS_OF(MET, DEEP)];
                         TAKE_P(own_p, lowest, MET)
                         LARGEST(most_k, own_p, MET, DEEP))
            TAKE_V(own, key)
            LARGEST(most_v, own, ALL_KEYS, ACROSS)
            MOST_OF_ALL(most_k, most_v, none)
            scale_k = fmin(scale_k, SCALE_FOR(most_k));
            float by = fmin(scale_v, SCALE_FOR(most_v)) * RECIPROCAL(scale_v);
            scale_v *= by;
            if (by < 1.0e-18f) LACKING = 1.0f;
            UNROLL_MATRICES for (uint n = 0u; n < WIDTH / 16u; ++n) EACH_ROW EACH_HELD SUM(r, n, c) *= by;
            PUT_V(own, from)
            TAKE_K(own, key)
            PUT_K(own, from)
            OF_POSITIONS(turn = 0u;
                         PUT_P(own_p, 0u, MET))
            BARRIER;
        }
        round += 1.0f;
        uint beside = SLICE - from;
        bool more = key + ALL_KEYS < last_key;
        float4 own[MOST_FOURS];  // of the next tile: keys, and when they have been put beside this one, values
        largest = 0u;
        if (more) { TAKE_K(own, key + ALL_KEYS) }
        OF_POSITIONS(float4 own_p[FOURS_OF(ALL_KEYS, DEEP)];
                     if (more) { TAKE_P(own_p, lowest + MET, ALL_KEYS) })
        MATRIX_SUM scores[TILES * SIXTEENS];
        UNROLL_MATRICES for (uint n = 0u; n < TILES * SIXTEENS; ++n) CLEAR_SUM(scores[n]);
        ADD_POSITIONS
        UNROLL_MATRICES for (uint d = 0u; d < DEPTH / 16u; ++d) {
            MATRIX_A q_high[TILES];
            MATRIX_A q_low[TILES];
            EACH_TILE {
                LOAD_SLICE_A(q_high[m], tiles, FROM_Q, own_rows + m * 16u, d * 2u, EIGHTS_K, false);
                LOAD_SLICE_A(q_low[m], tiles, FROM_Q + PART_Q, own_rows + m * 16u, d * 2u, EIGHTS_K, false);
            }
            EACH_SIXTEEN {
                MATRIX_B high, low;
                LOAD_SLICE_B(high, tiles, from, share + j * 16u, d * 2u, EIGHTS_K, true);
                LOAD_SLICE_B(low, tiles, from + PART_K, share + j * 16u, d * 2u, EIGHTS_K, true);
                MULTIPLY_PARTS_OF(scores[m * SIXTEENS + j], q_high[m], q_low[m], high, low)
            }
        }
        if (more) {
            PUT_K(own, beside)
            OF_POSITIONS(PUT_P(own_p, WRAPPED_LINE(turn + MET), ALL_KEYS))
            TAKE_V(own, key + ALL_KEYS)
        }
        float by = unit * RECIPROCAL(scale_k);
        if (key + ALL_KEYS > plain) {
            EACH_ROW {
                uint row = min(ROW_OF(r), P.rows - 1u);
                int at = start + CAST(int, row % P.queries);
                uint mask_at = MASK_OF(pair, row);
                EACH_SIXTEEN EACH_HELD {
                    uint own = key + share + j * 16u + HELD_COLUMN(c);
                    float x = SCORE(r, j, c) * (by * (1.0f / LOG2_E));
                    bool seen = own < last_key && SEES(at, own);
                    if (seen) { FINISH(x, mask_at, own) }
                    SCORE(r, j, c) = seen ? x : -K_INFINITY;
                }
            }
            by = 1.0f;
        }
        EACH_ROW {
            float next = -K_INFINITY;
            EACH_SIXTEEN EACH_HELD next = fmax(next, SCORE(r, j, c));
            BESIDE(next, fmax, exchange)
            next = fmax(most[r], next * by);
            // Where all that was seen is -infinity, nothing stands out: its exponentials are zeros, not NaN.
            float none = next == -K_INFINITY ? 1.0f : 0.0f;
            float below = none != 0.0f ? 0.0f : next - 14.0f;
            factor[r] = native_exp2(base[r] - below);
            most[r] = next;
            base[r] = none != 0.0f ? -K_INFINITY : below;
            float sum = 0.0f;
            EACH_SIXTEEN EACH_HELD {
                float x = native_exp2(fma(SCORE(r, j, c), by, -below));
                sum += x;
                SCORE(r, j, c) = x;
            }
            total[r] = fma(total[r], factor[r], sum);
        }
        MATRIX_A p_high[TILES * SIXTEENS];
        MATRIX_A p_low[TILES * SIXTEENS];
        UNROLL_MATRICES for (uint n = 0u; n < TILES * SIXTEENS; ++n)
            SPLIT_LEFT(p_high[n], p_low[n], scores[n], tiles, BEHIND + WARP_INDEX * SPACE_P + n * 64u);
        UNROLL_MATRICES for (uint n = 0u; n < WIDTH / 16u; ++n) {
            MATRIX_SUM next[TILES];
            EACH_TILE CLEAR_SUM(next[m]);
            EACH_SIXTEEN {
                MATRIX_B high, low;
                LOAD_SLICE_B(high, tiles, from + FROM_V, share + j * 16u, n * 2u, EIGHTS_V, false);
                LOAD_SLICE_B(low, tiles, from + FROM_V + PART_V, share + j * 16u, n * 2u, EIGHTS_V, false);
                MULTIPLY_PARTS_OF(next[m], p_high[m * SIXTEENS + j], p_low[m * SIXTEENS + j], high, low)
            }
            EACH_ROW EACH_HELD SUM(r, n, c) = fma(SUM(r, n, c), factor[r], HELD(next[r / HELD_ROWS], r % HELD_ROWS, c));
        }
        if (more) {
            PUT_V(own, beside)
            if (least < TOO_SMALL) LACKING = 1.0f;
            if (largest > TOO_LARGE) AGAIN = round;
        }
        from = beside;
        OF_POSITIONS(lowest += ALL_KEYS;
                     turn = WRAPPED_LINE(turn + ALL_KEYS);)
    }
    EACH_ROW { BESIDE(total[r], SUM_OF_TWO, exchange) }
    BARRIER;
    if (SHARES > 1u) {  // what the lane of another warp holds is of the same rows and columns
        if (share > 0u) {
            EACH_ROW {
                STAGED(tiles, 0u, LOCAL / 4u, r * 2u, LOCAL_INDEX) = base[r];
                STAGED(tiles, 0u, LOCAL / 4u, r * 2u + 1u, LOCAL_INDEX) = total[r];
                UNROLL_MATRICES for (uint n = 0u; n < WIDTH / 16u; ++n)
                    EACH_HELD STAGED(tiles, 0u, LOCAL / 4u, HELD_PLACE(r, n, c), LOCAL_INDEX) = SUM(r, n, c);
            }
        }
        BARRIER;
        for (uint other = share > 0u ? LOCAL : LOCAL_INDEX + DOWN * 32u; other < LOCAL; other += DOWN * 32u) {
            EACH_ROW {
                float theirs = STAGED(tiles, 0u, LOCAL / 4u, r * 2u, other);
                float next = fmax(base[r], theirs);
                float below = next == -K_INFINITY ? 0.0f : next;
                float mine = native_exp2(base[r] - below);
                float by = native_exp2(theirs - below);
                base[r] = next;
                total[r] = total[r] * mine + STAGED(tiles, 0u, LOCAL / 4u, r * 2u + 1u, other) * by;
                UNROLL_MATRICES for (uint n = 0u; n < WIDTH / 16u; ++n)
                    EACH_HELD SUM(r, n, c) = SUM(r, n, c) * mine + STAGED(tiles, 0u, LOCAL / 4u, HELD_PLACE(r, n, c), other) * by;
            }
        }
    }
    uint bad = 0u;
    EACH_ROW {
        float by = total[r] == 0.0f ? 0.0f : 1.0f / total[r];
        float all = total[r];
        uint row = share == 0u ? ROW_OF(r) : P.rows;
        UNROLL_MATRICES for (uint n = 0u; n < WIDTH / 16u; ++n)
            EACH_HELD {
                float x = SUM(r, n, c) * by * RECIPROCAL(scale_v);
                all += x;
                if (row < P.rows && COLUMN_OF(n, c) < P.width) STORE(y, (pair * P.rows + row) * P.width + COLUMN_OF(n, c), x);
            }
        if (row < P.rows && (is_nan(all) || is_infinite(all) || LACKING != 0.0f)) bad |= 1u << r;
    }
    for (uint r = 0u; bad >> r != 0u; ++r) {
        if ((bad >> r & 1u) != 0u) ONE_KEY_AT_A_TIME(ROW_OF(r), WIDTH / 16u * HELD_COLUMNS, COLUMN_OF_ELEMENT)
    }
END
