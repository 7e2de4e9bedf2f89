#include "common.cl"
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
        case 40: return (V)((M)a + (M)b);
        case 41: return (V)((M)a - (M)b);
        case 42: return (V)((M)a * (M)b);
        case 43: return b == 0 ? 0 : b == -1 ? (V)(0 - (M)a) : a / b;
        case 45: return a > b ? a : b;
        case 46: return a < b ? a : b;
    }
#else
    switch (OP) {
        case 40: return a + b;
        case 41: return a - b;
        case 42: return a * b;
        case 43: return a / b;
        case 44: return pow_(a, b);
        case 45: return is_nan(a) ? a : is_nan(b) ? b : a > b ? a : b;
        case 46: return is_nan(a) ? a : is_nan(b) ? b : a < b ? a : b;
    }
#endif
    return a;
}

ENTRY bp_binary(PARAMETERS, READ(x, E), READ(y, E), WRITE(z, E)) {
    BEGIN;
    AT(x), AT(y), AT(z);
    uint i = invocation_index();
    if (i >= P(0)) return;
    uint2 at = nest_offsets(words, 1, i);
    STORE_E(z, i, apply(LOAD_E(x, at.x), LOAD_E(y, at.y)));
}
