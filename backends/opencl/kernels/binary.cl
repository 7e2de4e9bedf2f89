#include "common.cl"
#define P PARAMETERS_OF(Binary)
// z = op(x, y) with broadcasting; z is dense. Parameters: elements, then the loops.
#if defined(INTEGER)
#if defined(LONG)
#define E long
#define M ulong
#else
#define E int
#define M uint
#endif
#define V E
#define LOAD_E(p, i) (p)[i]
#define STORE_E(p, i, v) (p)[i] = (v)
#else
#include "functions.cl"
#define E T
#define V float
#define LOAD_E LOAD
#define STORE_E STORE
#endif
#include "nest.cl"
#define OP C1

V apply(V a, V b) {
#if defined(INTEGER)
    // Unsigned, where wrapping is defined.
    switch (OP) {
        case BP_OP_add: return (V)((M)a + (M)b);
        case BP_OP_sub: return (V)((M)a - (M)b);
        case BP_OP_mul: return (V)((M)a * (M)b);
        case BP_OP_div: return b == 0 ? 0 : b == -1 ? (V)(0 - (M)a) : a / b;
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

ENTRY bp_binary(PARAMETERS, READ(x, E), READ(y, E), WRITE(z, E)) {
    BEGIN;
    AT(x), AT(y), AT(z);
    uint i = invocation_index();
    if (i >= P.elements) return;
    uint2 at = nest_offsets(words, BINARY_NEST, i);
    STORE_E(z, i, apply(LOAD_E(x, at.x), LOAD_E(y, at.y)));
}
