#version 450
#include "common.glsl"
#include "move.glsl"
// Strided copy. Parameters: elements, first element of x, first element of y, then the loops of x and y.
#include "nest.glsl"
READ(1, x, M);
WRITE(2, y, M);
void main() {
    uint i = invocation_index();
    if (i >= P(0)) return;
    uvec2 at = nest_offsets(3, i);
    y[base[1] + P(2) + at.y] = x[base[0] + P(1) + at.x];
}
