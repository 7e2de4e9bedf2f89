#include "common.cl"
#include "move.cl"
#include "nest.cl"
// Strided copy. Parameters: elements, first element of x, first element of y, then the loops of x and y.
ENTRY bp_copy(PARAMETERS, READ(x, M), WRITE(y, M)) {
    BEGIN;
    AT(x), AT(y);
    uint i = invocation_index();
    if (i >= P(0)) return;
    uint2 at = nest_offsets(words, 3, i);
    y[P(2) + at.y] = x[P(1) + at.x];
}
