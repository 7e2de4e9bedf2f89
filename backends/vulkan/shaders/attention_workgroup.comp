#include "workgroup_matrices.h"
#include "common.h"
#define EXACT_DIVISION  // no quotient here is more than a part of a sum
#include "functions.h"
#include "attention_keys.h"
// As attention.kernel, by matrices of the whole workgroup, in f16 with sums in float32. There are ROWS rows and KEYS keys at least: the last
// block and the last tile end where these end; rows are made again, keys that were seen are left out. Scores are in units of log2(e).
// Relative positions: the rows are multiplied by the ROWS + KEYS - 1 positions that a tile meets, and each row of that product moves by its own distance on
// its way through shared memory. There are DISTANCES at least.
CONSTANT(1, ROWS, 64)
CONSTANT(2, KEYS, 64)
CONSTANT(3, DEPTH, 64)
CONSTANT(4, WIDTH, 64)
CONSTANT(5, RELATIVE, 0)  // 1: there are relative positions, and a pair is one head of q
CONSTANT(6, CLAMPED, 0)   // 1: heads are shorter than DEPTH or WIDTH, and end in zeros
CONSTANT(7, DISTANCES, 128)  // ROWS + KEYS
#define LOG2_E 1.4426950408889634f
#define LEAST -1.0e30f  // below any score
KERNEL_8(attention_workgroup, Attention, (READ, q, T), (READ, k, T), (READ, v, T), (READ, mask, T), (READ, lengths, int), (READ, positions, T), (READ, biases, float), (WRITE, y, T))
layout(set = 0, binding = 4, std430) readonly buffer Truths { uint8_t truth[]; };
// What is NaN comes through by the exponentials.
float larger_of(const in float a, const in float b) { return max(a, b); }
float first_of(const in float a, const in float b) { return a; }
float raised(const in uint row, const in uint column, const in float x, const in float least) { return max(x, least); }
float power(const in uint row, const in uint column, const in float x) { return exp2(x); }
float divisor(const in uint row, const in uint column, const in float x) { return x == 0.0 ? 0.0 : 1.0 / x; }
// A score as it counts; -infinity where its key is not seen, or was seen in the tile before.
float shown(const in uint row, const in uint column, const in float score, const in uint pair, const in uint first_row, const in int start,
            const in uint from, const in uint key, const in uint last_key) {
    float x = score * P.scale;
    if (P.softcap != 0.0) x = P.softcap * tanh_(x / P.softcap);
    uint own = from + column;
    if (own < key || own >= last_key || !SEES(start + int((first_row + row) % P.queries), own)) return -K_INFINITY;
    uint place = MASK_OF(pair, first_row + row) + own * P.mask_key;
    if (P.masked == 1u) x += LOAD(mask, place);
    if (P.masked == 2u && uint(truth[first_mask() + place]) == 0u) return -K_INFINITY;
    return x * LOG2_E;
}
SHARED(float, moved, RELATIVE != 0 ? ROWS * KEYS : 1)
// What a position adds to a score: it stands at `column` less `beyond` of those from the last row's first on. Biases as attention_biases made them.
float added(const in uint row, const in uint column, const in float x, const in int beyond, const in uint bias_p, const in uint bias_k) {
    int key = int(column + row) - beyond - int(ROWS - 1);
    if (key >= 0 && key < int(KEYS)) {
        float y = x;
        if ((P.added & ATTENTION_BIAS_U) != 0u) y += RAW(biases, bias_k + uint(key));
        if ((P.added & ATTENTION_BIAS_V) != 0u) y += RAW(biases, bias_p + column);
        moved[row * KEYS + uint(key)] = y;
    }
    return x;
}
#define ADD_POSITIONS                                                                                   \
    int lowest = int(P.distances / 2u) - start - int(first_row) + int(from) - int(ROWS - 1);            \
    int place = clamp(lowest, 0, int(P.distances - DISTANCES));                                         \
    RIGHT(DEPTH, DISTANCES) p_;                                                                         \
    coopMatLoadTensorNV(p_, positions, at_p, sliceTensorLayoutNV(of_p, uint(place), DISTANCES, 0u, DEPTH), TURNED); \
    SUMS(ROWS, DISTANCES) sums_p = coopMatMulAdd(q_, p_, SUMS(ROWS, DISTANCES)(0.0));                   \
    barrier();                                                                                          \
    coopMatPerElementNV(sums_p, sums_p, added, lowest - place, bias_p + uint(place), bias_k + from);    \
    barrier();                                                                                          \
    SUMS(ROWS, KEYS) more;                                                                              \
    coopMatLoad(more, moved, 0, KEYS, gl_CooperativeMatrixLayoutRowMajor);                              \
    scores += more;
// The tiles of keys from `key` to `end`; SHOW: what becomes of a tile's scores.
#define ATTEND(end, SHOW)                                                                               \
    [[dont_unroll]] for (; key < (end); key += KEYS) {                                                  \
        uint from = min(key, P.keys - KEYS);                                                            \
        RIGHT(DEPTH, KEYS) k_;                                                                          \
        coopMatLoadTensorNV(k_, k, at_k, sliceTensorLayoutNV(of_k, from, KEYS, 0u, DEPTH), TURNED);     \
        SUMS(ROWS, KEYS) scores = coopMatMulAdd(q_, k_, SUMS(ROWS, KEYS)(0.0));                         \
        if (RELATIVE != 0) { ADD_POSITIONS }                                                            \
        SHOW;                                                                                           \
        SUMS(ROWS, KEYS) next;                                                                          \
        coopMatReduceNV(next, scores, gl_CooperativeMatrixReduceRowNV, larger_of);                      \
        coopMatPerElementNV(next, next, raised, most);                                                  \
        SUMS(ROWS, KEYS) factor = most - next;                                                          \
        coopMatPerElementNV(factor, factor, power);                                                     \
        most = next;                                                                                    \
        scores -= next;                                                                                 \
        coopMatPerElementNV(scores, scores, power);                                                     \
        LEFT(ROWS, KEYS) weights = LEFT(ROWS, KEYS)(scores);                                            \
        total = coopMatMulAdd(weights, ones, total * factor);                                           \
        SUMS(ROWS, WIDTH) wide;                                                                         \
        coopMatReduceNV(wide, factor, gl_CooperativeMatrixReduceRowNV, first_of);                       \
        RIGHT(KEYS, WIDTH) v_;                                                                          \
        coopMatLoadTensorNV(v_, v, at_v, sliceTensorLayoutNV(of_v, from, KEYS, 0u, WIDTH));             \
        sums = coopMatMulAdd(weights, v_, sums * wide);                                                 \
    }
BEGIN
    KEYS_OF_BLOCK(min(GROUP_INDEX % P.blocks * ROWS, P.rows - ROWS))
    uint depth = CLAMPED != 0 ? P.depth : DEPTH;
    uint width = CLAMPED != 0 ? P.width : WIDTH;
    CLAMPED_MATRIX_OF(of_q, P.rows, depth, CLAMPED)
    CLAMPED_MATRIX_OF(of_k, P.keys, depth, CLAMPED)
    CLAMPED_MATRIX_OF(of_v, P.keys, width, CLAMPED)
    CLAMPED_MATRIX_OF(of_p, P.distances, depth, CLAMPED)
    CLAMPED_MATRIX_OF(of_y, P.rows, width, CLAMPED)
    // Up to where all rows see all keys, and nothing else is done to a score.
    uint plain = P.causal != 0u ? min(last_key, uint(max(early + 1, 0))) : last_key;
    if (P.softcap != 0.0 || P.masked != 0u || window != 0) plain = 0u;
    SUMS(ROWS, WIDTH) sums = SUMS(ROWS, WIDTH)(0.0);
    SUMS(ROWS, KEYS) most = SUMS(ROWS, KEYS)(LEAST);
    SUMS(ROWS, KEYS) total = SUMS(ROWS, KEYS)(0.0);
    RIGHT(KEYS, KEYS) ones = RIGHT(KEYS, KEYS)(1.0);
    uint at_k = first_k() + pair / P.sharing * P.keys * depth;
    uint at_v = first_v() + pair / P.sharing * P.keys * width;
    uint at_p = first_positions() + pair % P.heads * P.distances * depth;
    uint bias_k = pair * P.keys;
    uint bias_p = P.pairs * P.keys + pair % P.heads * P.distances;
    LEFT(ROWS, DEPTH) q_;
    coopMatLoadTensorNV(q_, q, first_q() + pair * P.rows * depth, sliceTensorLayoutNV(of_q, first_row, ROWS, 0u, DEPTH));
    uint key = first_key / KEYS * KEYS;
    ATTEND(plain / KEYS * KEYS, scores *= P.scale * LOG2_E)
    ATTEND(last_key, coopMatPerElementNV(scores, scores, shown, pair, first_row, start, from, key, last_key))
    coopMatPerElementNV(total, total, divisor);
    SUMS(ROWS, WIDTH) wide;
    coopMatReduceNV(wide, total, gl_CooperativeMatrixReduceRowNV, first_of);
    coopMatStoreTensorNV(ROUNDED(ROWS, WIDTH)(sums * wide), y, first_y() + pair * P.rows * width,
                         sliceTensorLayoutNV(of_y, first_row, ROWS, 0u, WIDTH));
END
