#include "common.cl"
// y = op(x) for whole numbers. Parameters: elements, least (2 words), most (2 words).
#if defined(LONG)
#define I long
#define M ulong
#define BOUND(k) as_long(((ulong)P((k) + 1) << 32) | P(k))
#else
#define I int
#define M uint
#define BOUND(k) as_int(P(k))
#endif
#define OP C1
ENTRY bp_unary_integer(PARAMETERS, READ(x, I), WRITE(y, I)) {
    BEGIN;
    AT(x), AT(y);
    uint i = invocation_index();
    if (i >= P(0)) return;
    I v = x[i];
    switch (OP) {
        case 10: v = v < 0 ? (I)(0 - (M)v) : v; break;
        case 11: v = (I)(0 - (M)v); break;
        case 19: v = v < 0 ? 0 : v; break;
        case 26: {
            I least = BOUND(1);
            I most = BOUND(3);
            v = v > least ? v : least;
            v = v < most ? v : most;
            break;
        }
    }
    y[i] = v;
}
