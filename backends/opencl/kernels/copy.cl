#include "common.cl"
#define P PARAMETERS_OF(Copy)
#include "move.cl"
#include "nest.cl"
// Strided copy. Parameters: elements, first element of x, first element of y, then the loops of x and y.
ENTRY bp_copy(PARAMETERS, READ(x, M), WRITE(y, M)) {
    BEGIN;
    AT(x), AT(y);
    uint i = invocation_index();
    if (i >= P.elements) return;
    uint2 at = nest_offsets(words, COPY_NEST, i);
    y[P.first_y + at.y] = x[P.first_x + at.x];
}
