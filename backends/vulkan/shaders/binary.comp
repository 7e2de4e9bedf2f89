#version 450
#include "common.glsl"
PARAMETERS(Binary)
// z = op(x, y) with broadcasting; z is dense. Parameters: elements, then the loops.
#if defined(INTEGER)
#if defined(LONG)
#define E int64_t
#else
#define E int
#endif
#define V E
#else
#define E T
#define V float
#include "functions.glsl"
#endif
#include "nest.glsl"
layout(constant_id = 1) const uint OP = 40;
READ(1, x, E);
READ(2, y, E);
WRITE(3, z, E);

V apply(V a, V b) {
#if defined(INTEGER)
    switch (OP) {
        case BP_OP_add: return a + b;
        case BP_OP_sub: return a - b;
        case BP_OP_mul: return a * b;
        case BP_OP_div: return b == V(0) ? V(0) : b == V(-1) ? -a : a / b;
        case BP_OP_max: return a > b ? a : b;
        case BP_OP_min: return a < b ? a : b;
    }
#else
    switch (OP) {
        case BP_OP_add: return a + b;
        case BP_OP_sub: return a - b;
        case BP_OP_mul: return a * b;
        case BP_OP_div: return a / b;
        case BP_OP_pow: return pow_(a, b);
        case BP_OP_max: return is_nan(a) ? a : is_nan(b) ? b : a > b ? a : b;
        case BP_OP_min: return is_nan(a) ? a : is_nan(b) ? b : a < b ? a : b;
    }
#endif
    return a;
}

void main() {
    uint i = invocation_index();
    if (i >= P.elements) return;
    uvec2 at = nest_offsets(BINARY_NEST, i);
    z[base[2] + i] = E(apply(V(x[base[0] + at.x]), V(y[base[1] + at.y])));
}
