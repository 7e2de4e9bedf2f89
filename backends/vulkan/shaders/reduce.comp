#version 450
#include "common.glsl"
PARAMETERS(Reduce)
// Reductions: a workgroup a result. Parameters: results, n, 1 / n, then loops over what is kept (rank, size[8], stride[8] of x),
// then over what is reduced.
layout(constant_id = 0) const uint LOCAL = 64;
layout(constant_id = 1) const uint OP = 90;
#if defined(INTEGER)
#if defined(LONG)
#define E int64_t
#define LEAST E(packInt2x32(ivec2(0, -2147483648)))
#define MOST E(packInt2x32(ivec2(-1, 2147483647)))
#else
#define E int
#define LEAST -2147483648
#define MOST 2147483647
#endif
#define V E
#else
#include "functions.glsl"
#define E T
#define V float
#define LEAST -kInfinity
#define MOST kInfinity
#endif
READ(1, x, E);
WRITE(2, y, E);
shared V partial[LOCAL];

uint offset_of(uint at, uint i) {
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
#else
    if (OP == BP_OP_reduce_max) return is_nan(a) ? a : is_nan(b) ? b : a > b ? a : b;
    if (OP == BP_OP_reduce_min) return is_nan(a) ? a : is_nan(b) ? b : a < b ? a : b;
#endif
    return a + b;
}

void main() {
    uint row = group_index();
    if (row >= P.results) return;
    uint n = P.n;
    uint t = gl_LocalInvocationID.x;
    uint start = base[0] + offset_of(REDUCE_KEPT, row);
    V v = OP == BP_OP_reduce_max ? LEAST : OP == BP_OP_reduce_min ? MOST : V(0);
    for (uint i = t; i < n; i += LOCAL) v = combine(v, V(x[start + offset_of(REDUCE_SUMMED, i)]));
    partial[t] = v;
    barrier();
    for (uint step = LOCAL / 2; step > 0; step /= 2) {
        if (t < step) partial[t] = combine(partial[t], partial[t + step]);
        barrier();
    }
    if (t != 0) return;
    v = partial[0];
#if defined(INTEGER)
    if (OP == BP_OP_reduce_mean) v = n == 0 ? V(0) : v / V(n);
#else
    if (OP == BP_OP_reduce_mean) v = n == 0 ? kNan : v / float(n);
#endif
    y[base[1] + row] = E(v);
}
