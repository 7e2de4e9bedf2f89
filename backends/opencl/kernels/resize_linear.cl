#include "common.cl"
// Bilinear resize of maps. Parameters: elements, H, W, H', W'. taps: for each row then each column of y: first, second of x and the
// weight of the second.
ENTRY bp_resize_linear(PARAMETERS, READ(x, T), READ(taps, uint), WRITE(y, T)) {
    BEGIN;
    AT(x), AT(taps), AT(y);
    uint i = invocation_index();
    if (i >= P(0)) return;
    uint column = (P(3) + i % P(4)) * 3;
    uint rest = i / P(4);
    uint row = (rest % P(3)) * 3;
    uint map = rest / P(3) * P(1) * P(2);
    float v = as_float(taps[row + 2]);
    float h = as_float(taps[column + 2]);
    uint top = map + taps[row] * P(2);
    uint bottom = map + taps[row + 1] * P(2);
    float left = LOAD(x, top + taps[column]) * (1.0f - v) + LOAD(x, bottom + taps[column]) * v;
    float right = LOAD(x, top + taps[column + 1]) * (1.0f - v) + LOAD(x, bottom + taps[column + 1]) * v;
    STORE(y, i, left * (1.0f - h) + right * h);
}
