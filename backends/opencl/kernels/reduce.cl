#include "common.cl"
#define P PARAMETERS_OF(Reduce)
// Reductions: a workgroup a result. Parameters: results, n, 1 / n, then loops over what is kept (rank, size[8], stride[8] of x),
// then over what is reduced.
#if defined(INTEGER)
#if defined(LONG)
#define E long
#define M ulong
#define LEAST LONG_MIN
#define MOST LONG_MAX
#else
#define E int
#define M uint
#define LEAST INT_MIN
#define MOST INT_MAX
#endif
#define V E
#define LOAD_E(p, i) (p)[i]
#define STORE_E(p, i, v) (p)[i] = (v)
#else
#define E T
#define V float
#define LEAST (-K_INFINITY)
#define MOST K_INFINITY
#define LOAD_E LOAD
#define STORE_E STORE
#endif
#define OP C1

uint offset_of(constant uint *words, uint at, uint i) {
    uint offset = 0;
    for (uint d = WORD(at); d-- > 0;) {
        uint size = WORD(at + NEST_SIZES + d);
        offset += (d == 0 ? i : i % size) * WORD(at + NEST_STRIDES + d);
        i /= size;
    }
    return offset;
}

V combine(V a, V b) {
#if defined(INTEGER)
    if (OP == BP_OP_reduce_max) return a > b ? a : b;
    if (OP == BP_OP_reduce_min) return a < b ? a : b;
    return (V)((M)a + (M)b);
#else
    if (OP == BP_OP_reduce_max) return is_nan(a) ? a : is_nan(b) ? b : a > b ? a : b;
    if (OP == BP_OP_reduce_min) return is_nan(a) ? a : is_nan(b) ? b : a < b ? a : b;
    return a + b;
#endif
}

ENTRY bp_reduce(PARAMETERS, READ(x, E), WRITE(y, E)) {
    local V partial[LOCAL];
    BEGIN;
    AT(x), AT(y);
    uint row = group_index();
    if (row >= P.results) return;
    uint n = P.n;
    uint t = get_local_id(0);
    uint start = offset_of(words, REDUCE_KEPT, row);
    V v = OP == BP_OP_reduce_max ? LEAST : OP == BP_OP_reduce_min ? MOST : (V)0;
    FOR_EACH_OF(i, n) v = combine(v, LOAD_E(x, start + offset_of(words, REDUCE_SUMMED, i)));
    partial[t] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = LOCAL / 2; step > 0; step /= 2) {
        if (t < step) partial[t] = combine(partial[t], partial[t + step]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    v = partial[0];
#if defined(INTEGER)
    if (OP == BP_OP_reduce_mean) v = n == 0 ? (V)0 : v / (V)n;
#else
    if (OP == BP_OP_reduce_mean) v = n == 0 ? K_NAN : v / (float)n;
#endif
    if (t == 0) STORE_E(y, row, v);
}
