#include "common.cl"
#define P PARAMETERS_OF(Resize)
#include "move.cl"
// Nearest resize of maps. Parameters: elements, H, W, H', W'. taps: for each row then each column of y, the one of x.
ENTRY bp_resize_nearest(PARAMETERS, READ(x, M), READ(taps, uint), WRITE(y, M)) {
    BEGIN;
    AT(x), AT(taps), AT(y);
    uint i = invocation_index();
    if (i >= P.elements) return;
    uint column = i % P.columns_out;
    uint rest = i / P.columns_out;
    uint row = taps[rest % P.rows_out];
    y[i] = x[(rest / P.rows_out * P.rows_in + row) * P.columns_in + taps[P.rows_out + column]];
}
