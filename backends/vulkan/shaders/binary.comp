#version 450
#include "common.glsl"
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
        case 40u: return a + b;
        case 41u: return a - b;
        case 42u: return a * b;
        case 43u: return b == V(0) ? V(0) : b == V(-1) ? -a : a / b;
        case 45u: return a > b ? a : b;
        case 46u: return a < b ? a : b;
    }
#else
    switch (OP) {
        case 40u: return a + b;
        case 41u: return a - b;
        case 42u: return a * b;
        case 43u: return a / b;
        case 44u: return pow_(a, b);
        case 45u: return is_nan(a) ? a : is_nan(b) ? b : a > b ? a : b;
        case 46u: return is_nan(a) ? a : is_nan(b) ? b : a < b ? a : b;
    }
#endif
    return a;
}

void main() {
    uint i = invocation_index();
    if (i >= P(0)) return;
    uvec2 at = nest_offsets(1, i);
    z[base[2] + i] = E(apply(V(x[base[0] + at.x]), V(y[base[1] + at.y])));
}
