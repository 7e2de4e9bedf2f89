#include "common.cl"
#include "functions.cl"
// y = op(x), both dense. Parameters: elements, a, b.
ENTRY bp_unary(PARAMETERS, READ(x, T), WRITE(y, T)) {
    BEGIN;
    AT(x), AT(y);
    uint i = invocation_index();
    if (i < P(0)) STORE(y, i, unary_op(C1, LOAD(x, i), PF(1), PF(2)));
}
