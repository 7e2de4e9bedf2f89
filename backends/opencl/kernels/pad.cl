#include "common.cl"
#include "move.cl"
// Pad. Parameters: elements, mode, the fill (2 words), rank, extents of y[8], extents of x[8], pads before[8].
ENTRY bp_pad(PARAMETERS, READ(x, M), WRITE(y, M)) {
    BEGIN;
    AT(x), AT(y);
    uint i = invocation_index();
    if (i >= P(0)) return;
    uint rest = i;
    uint at = 0;
    uint stride = 1;
    int inside = 1;
    for (uint d = P(4); d-- > 0;) {
        uint size = P(5 + d);
        int extent = (int)P(13 + d);
        int k = (int)(rest % size) - (int)P(21 + d);
        rest /= size;
        if (k < 0 || k >= extent) {
            if (P(1) == 0) {
                inside = 0;
            } else if (P(1) == 1 || extent == 1) {
                k = k < 0 ? 0 : extent - 1;
            } else {
                int period = 2 * (extent - 1);
                k = (k < 0 ? -k : k) % period;
                if (k >= extent) k = period - k;
            }
        }
        if (inside) at += (uint)k * stride;
        stride *= (uint)extent;
    }
    y[i] = inside ? x[at] : (M)(((ulong)P(3) << 32) | P(2));
}
