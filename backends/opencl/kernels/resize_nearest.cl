#include "common.cl"
#include "move.cl"
// Nearest resize of maps. Parameters: elements, H, W, H', W'. taps: for each row then each column of y, the one of x.
ENTRY bp_resize_nearest(PARAMETERS, READ(x, M), READ(taps, uint), WRITE(y, M)) {
    BEGIN;
    AT(x), AT(taps), AT(y);
    uint i = invocation_index();
    if (i >= P(0)) return;
    uint column = i % P(4);
    uint rest = i / P(4);
    uint row = taps[rest % P(3)];
    y[i] = x[(rest / P(3) * P(1) + row) * P(2) + taps[P(3) + column]];
}
