#version 450
#include "common.glsl"
#include "move.glsl"
// Nearest resize of maps. Parameters: elements, H, W, H', W'. taps: for each row then each column of y, the one of x.
READ(1, x, M);
READ(2, taps, uint);
WRITE(3, y, M);
void main() {
    uint i = invocation_index();
    if (i >= P(0)) return;
    uint column = i % P(4);
    uint rest = i / P(4);
    uint row = taps[base[1] + rest % P(3)];
    y[base[2] + i] = x[base[0] + (rest / P(3) * P(1) + row) * P(2) + taps[base[1] + P(3) + column]];
}
