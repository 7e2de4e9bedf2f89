// clang-format off
// What kernels of attention share that make parts of floats (float_parts.h).
#define LOG2_E 1.44269504088896341f
// A score in units of log2(e), of a key that is seen.
#define FINISH(x, mask_at, key)                                  \
    if (P.softcap != 0.0f) x = P.softcap * tanh_(x / P.softcap); \
    x *= LOG2_E;                                                 \
    if (P.masked != 0u) x = MASKED_BY_ANY(x, (mask_at) + (key) * P.mask_key, LOG2_E);
#define ONE_BY_ONE(p, i) FLOAT4(LOAD(p, i), LOAD(p, (i) + 1u), LOAD(p, (i) + 2u), LOAD(p, (i) + 3u))
// The power of two that brings a number to 2^13 or more, below 2^14; its reciprocal.
#define SCALE_FOR(most) SCALE_FOR_BITS(AS_UINT(most))
#define SCALE_FOR_BITS(most) AS_FLOAT(min(267u - ((most) >> 23), 253u) << 23)
#define RECIPROCAL(scale) AS_FLOAT(254u * 0x800000u - AS_UINT(scale))
// What is too large for a half, and what is so small that its parts lack digits; of bits, less one where they are of the least, so that 0 is none.
#define TOO_LARGE 0x476a6000u  // 60000
#define TOO_SMALL 0x3b800000u  // 2^-8
// Of element d of row `row`, which stands at `at`, and key `one`.
#if RELATIVE
#define WITH(bias, flag, d) (LOAD(q, first_q + row * P.depth + (d)) + ((P.added & flag) != 0u ? LOAD(bias, pair % P.heads * P.depth + (d)) : 0.0f))
#define PRODUCT_OF(row, at, one, d)                                                                                                              \
    (WITH(bias_u, ATTENTION_BIAS_U, d) * LOAD(k, first_k + (one) * P.depth + (d)) + WITH(bias_v, ATTENTION_BIAS_V, d) * POSITION_OF(P.distances / 2u + (one) - CAST(uint, at), d))
#define POSITION_OF(place, d) ((place) < P.distances ? LOAD(positions, first_p + (place) * P.depth + (d)) : 0.0f)
#else
#define PRODUCT_OF(row, at, one, d) LOAD(q, first_q + (row) * P.depth + (d)) * LOAD(k, first_k + (one) * P.depth + (d))
#endif
// Rare: a row, one key at a time and in short text, of it those columns that COLUMN(0) to COLUMN(count - 1) are.
#define ONE_KEY_AT_A_TIME(its_row, count, COLUMN)                                                                                 \
    {                                                                                                                             \
        uint row = its_row;                                                                                                       \
        int at = start + CAST(int, row % P.queries);                                                                              \
        uint mask_at = MASK_OF(pair, row);                                                                                        \
        float largest = -K_INFINITY;                                                                                              \
        float sum = 0.0f;                                                                                                         \
        float own[count];                                                                                                         \
        for (uint e = 0u; e < count; ++e) own[e] = 0.0f;                                                                          \
        for (uint one = first_key; one < last_key; ++one) {                                                                       \
            if (!SEES(at, one)) continue;                                                                                         \
            float x = 0.0f;                                                                                                       \
            for (uint d = 0u; d < P.depth; ++d) x += PRODUCT_OF(row, at, one, d);                                                 \
            x *= P.scale;                                                                                                         \
            FINISH(x, mask_at, one)                                                                                               \
            float next = fmax(largest, x);                                                                                        \
            float below = next == -K_INFINITY ? 0.0f : next;                                                                      \
            float by = native_exp2(largest - below);                                                                              \
            float p = native_exp2(x - below);                                                                                     \
            largest = next;                                                                                                       \
            sum = sum * by + p;                                                                                                   \
            for (uint e = 0u; e < count; ++e)                                                                                     \
                if (COLUMN(e) < P.width) own[e] = own[e] * by + p * LOAD(v, first_v + one * P.width + COLUMN(e));                 \
        }                                                                                                                         \
        for (uint e = 0u; e < count; ++e)                                                                                         \
            if (COLUMN(e) < P.width) STORE(y, (pair * P.rows + row) * P.width + COLUMN(e), sum == 0.0f ? 0.0f : own[e] / sum);    \
    }
