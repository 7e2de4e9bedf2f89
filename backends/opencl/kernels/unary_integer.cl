#include "common.cl"
#define P PARAMETERS_OF(UnaryInteger)
// y = op(x) for whole numbers. Parameters: elements, least (2 words), most (2 words).
#if defined(LONG)
#define I long
#define M ulong
#define BOUND(k) as_long(((ulong)WORD((k) + 1) << 32) | WORD(k))
#else
#define I int
#define M uint
#define BOUND(k) as_int(WORD(k))
#endif
#define OP C1
ENTRY bp_unary_integer(PARAMETERS, READ(x, I), WRITE(y, I)) {
    BEGIN;
    AT(x), AT(y);
    uint i = invocation_index();
    if (i >= P.elements) return;
    I v = x[i];
    switch (OP) {
        case BP_OP_abs: v = v < 0 ? (I)(0 - (M)v) : v; break;
        case BP_OP_neg: v = (I)(0 - (M)v); break;
        case BP_OP_relu: v = v < 0 ? 0 : v; break;
        case BP_OP_clip: {
            I least = BOUND(UNARY_INTEGER_BOUNDS);
            I most = BOUND(UNARY_INTEGER_BOUNDS + 2);
            v = v > least ? v : least;
            v = v < most ? v : most;
            break;
        }
    }
    y[i] = v;
}
