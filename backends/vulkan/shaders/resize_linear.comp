#version 450
#include "common.glsl"
PARAMETERS(Resize)
// Bilinear resize of maps. Parameters: elements, H, W, H', W'. taps: for each row then each column of y: first, second of x and the
// weight of the second.
READ(1, x, T);
READ(2, taps, uint);
WRITE(3, y, T);
void main() {
    uint i = invocation_index();
    if (i >= P.elements) return;
    uint column = base[1] + (P.rows_out + i % P.columns_out) * 3;
    uint rest = i / P.columns_out;
    uint row = base[1] + (rest % P.rows_out) * 3;
    uint map = base[0] + rest / P.rows_out * P.rows_in * P.columns_in;
    float v = uintBitsToFloat(taps[row + 2]);
    float h = uintBitsToFloat(taps[column + 2]);
    uint top = map + taps[row] * P.columns_in;
    uint bottom = map + taps[row + 1] * P.columns_in;
    float left = float(x[top + taps[column]]) * (1.0 - v) + float(x[bottom + taps[column]]) * v;
    float right = float(x[top + taps[column + 1]]) * (1.0 - v) + float(x[bottom + taps[column + 1]]) * v;
    y[base[2] + i] = T(left * (1.0 - h) + right * h);
}
