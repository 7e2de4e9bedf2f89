#include "common.cl"
#define P PARAMETERS_OF(Gather)
#include "move.cl"
// Gather. Parameters: elements, inner, indices, extent, words an index (low word first). An index out of range reads the
// nearest element: nothing outside the operand is touched.
ENTRY bp_gather(PARAMETERS, READ(x, M), READ(indices, int), WRITE(y, M)) {
    BEGIN;
    AT(x), AT(indices), AT(y);
    uint i = invocation_index();
    if (i >= P.elements) return;
    uint inner = P.inner;
    uint count = P.indices;
    int extent = (int)P.extent;
    uint column = i % inner;
    uint row = i / inner;
    int k = indices[(row % count) * P.index_words];
    k = clamp(k < 0 ? k + extent : k, 0, extent - 1);
    y[i] = x[((row / count) * (uint)extent + (uint)k) * inner + column];
}
