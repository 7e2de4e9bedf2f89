// Attention of a few queries of one head over all its keys, and the rotation of what it takes.
#pragma once

#include <stdint.h>

namespace backplane::cpu {

constexpr int64_t kAttentionQueries = 64;  // of a block, at most

struct AttentionBlock {
    const float *q, *k, *v;              // rows of `size`, `size` and `width` floats; of q the first of the block
    int64_t q_row, out_row;              // floats from a query and a row of the result to the next
    const uint8_t *k_blocks, *v_blocks;  // rows of q8_0 in their place; null: none, as for k of no bytes
    float* out;                          // rows of `width`
    int64_t rows;                        // queries, 1 to kAttentionQueries
    int64_t size, width;
    int64_t first;   // where the first query stands among the keys: may be negative
    int64_t length;  // keys
    int64_t window;  // 0: none
    bool causal;
    float scale, softcap;  // softcap 0: none
    // Both null: no mask. Element [query, key] is `query * mask_row + key * mask_key` on.
    const float* added;
    const uint8_t* seen;
    int64_t mask_row, mask_key;
    // Relative positions: a row of `size` floats for each distance of a key before the query, the largest first; that of 0 is the middle one. They are
    // as many as queries and keys are apart. Null: none. Biases of `size` floats are added to q where it meets keys (u) and positions (v); null: none.
    const float *positions, *bias_u, *bias_v;
    int64_t position_rows;
};

struct AttentionKernels {
    int64_t (*scratch)(int64_t size, int64_t width, bool positions, bool blocks);  // floats that `block` wants
    void (*block)(const AttentionBlock* block, float* scratch);
    // y[i] = x[i] c[i] - x[pairs + i] s[i], y[pairs + i] = x[i] s[i] + x[pairs + i] c[i]; or of neighbours 2 i and 2 i + 1.
    void (*rotate)(const float* x, const float* c, const float* s, float* y, int64_t pairs);
    void (*rotate_interleaved)(const float* x, const float* c, const float* s, float* y, int64_t pairs);
};

}  // namespace backplane::cpu
