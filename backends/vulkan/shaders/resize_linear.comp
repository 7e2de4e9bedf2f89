#version 450
#include "common.glsl"
// Bilinear resize of maps. Parameters: elements, H, W, H', W'. taps: for each row then each column of y: first, second of x and the
// weight of the second.
READ(1, x, T);
READ(2, taps, uint);
WRITE(3, y, T);
void main() {
    uint i = invocation_index();
    if (i >= P(0)) return;
    uint column = base[1] + (P(3) + i % P(4)) * 3;
    uint rest = i / P(4);
    uint row = base[1] + (rest % P(3)) * 3;
    uint map = base[0] + rest / P(3) * P(1) * P(2);
    float v = uintBitsToFloat(taps[row + 2]);
    float h = uintBitsToFloat(taps[column + 2]);
    uint top = map + taps[row] * P(2);
    uint bottom = map + taps[row + 1] * P(2);
    float left = float(x[top + taps[column]]) * (1.0 - v) + float(x[bottom + taps[column]]) * v;
    float right = float(x[top + taps[column + 1]]) * (1.0 - v) + float(x[bottom + taps[column + 1]]) * v;
    y[base[2] + i] = T(left * (1.0 - h) + right * h);
}
