#version 450
#include "common.glsl"
PARAMETERS(Copy)
#include "move.glsl"
// Strided copy. Parameters: elements, first element of x, first element of y, then the loops of x and y.
#include "nest.glsl"
READ(1, x, M);
WRITE(2, y, M);
void main() {
    uint i = invocation_index();
    if (i >= P.elements) return;
    uvec2 at = nest_offsets(COPY_NEST, i);
    y[base[1] + P.first_y + at.y] = x[base[0] + P.first_x + at.x];
}
