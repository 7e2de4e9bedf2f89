#include "common.cl"
#define P PARAMETERS_OF(Unary)
#include "functions.cl"
// y = op(x), both dense. Parameters: elements, a, b.
ENTRY bp_unary(PARAMETERS, READ(x, T), WRITE(y, T)) {
    BEGIN;
    AT(x), AT(y);
    uint i = invocation_index();
    if (i < P.elements) STORE(y, i, unary_op(C1, LOAD(x, i), P.a, P.b));
}
