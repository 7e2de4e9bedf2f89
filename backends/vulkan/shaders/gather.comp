#version 450
#include "common.glsl"
PARAMETERS(Gather)
#include "move.glsl"
// Gather. Parameters: elements, inner, indices, extent, words an index (low word first). An index out of range reads the
// nearest element: nothing outside the operand is touched.
READ(1, x, M);
READ(2, indices, int);
WRITE(3, y, M);
void main() {
    uint i = invocation_index();
    if (i >= P.elements) return;
    uint inner = P.inner;
    uint count = P.indices;
    int extent = int(P.extent);
    uint column = i % inner;
    uint row = i / inner;
    int k = indices[base[1] + (row % count) * P.index_words];
    k = clamp(k < 0 ? k + extent : k, 0, extent - 1);
    y[base[2] + i] = x[base[0] + ((row / count) * uint(extent) + uint(k)) * inner + column];
}
