#version 450
#include "common.glsl"
PARAMETERS(Resize)
#include "move.glsl"
// Nearest resize of maps. Parameters: elements, H, W, H', W'. taps: for each row then each column of y, the one of x.
READ(1, x, M);
READ(2, taps, uint);
WRITE(3, y, M);
void main() {
    uint i = invocation_index();
    if (i >= P.elements) return;
    uint column = i % P.columns_out;
    uint rest = i / P.columns_out;
    uint row = taps[base[1] + rest % P.rows_out];
    y[base[2] + i] = x[base[0] + (rest / P.rows_out * P.rows_in + row) * P.columns_in + taps[base[1] + P.rows_out + column]];
}
