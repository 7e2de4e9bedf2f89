#include "common.cl"
#define P PARAMETERS_OF(Resize)
// Bilinear resize of maps. Parameters: elements, H, W, H', W'. taps: for each row then each column of y: first, second of x and the
// weight of the second.
ENTRY bp_resize_linear(PARAMETERS, READ(x, T), READ(taps, uint), WRITE(y, T)) {
    BEGIN;
    AT(x), AT(taps), AT(y);
    uint i = invocation_index();
    if (i >= P.elements) return;
    uint column = (P.rows_out + i % P.columns_out) * 3;
    uint rest = i / P.columns_out;
    uint row = (rest % P.rows_out) * 3;
    uint map = rest / P.rows_out * P.rows_in * P.columns_in;
    float v = as_float(taps[row + 2]);
    float h = as_float(taps[column + 2]);
    uint top = map + taps[row] * P.columns_in;
    uint bottom = map + taps[row + 1] * P.columns_in;
    float left = LOAD(x, top + taps[column]) * (1.0f - v) + LOAD(x, bottom + taps[column]) * v;
    float right = LOAD(x, top + taps[column + 1]) * (1.0f - v) + LOAD(x, bottom + taps[column + 1]) * v;
    STORE(y, i, left * (1.0f - h) + right * h);
}
