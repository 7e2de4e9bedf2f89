#include "common.cl"
#define P PARAMETERS_OF(Pad)
#include "move.cl"
// Pad. Parameters: elements, mode, the fill (2 words), rank, extents of y[8], extents of x[8], pads before[8].
ENTRY bp_pad(PARAMETERS, READ(x, M), WRITE(y, M)) {
    BEGIN;
    AT(x), AT(y);
    uint i = invocation_index();
    if (i >= P.elements) return;
    uint rest = i;
    uint at = 0;
    uint stride = 1;
    int inside = 1;
    for (uint d = P.rank; d-- > 0;) {
        uint size = WORD(PAD_SIZES + d);
        int extent = (int)WORD(PAD_EXTENTS + d);
        int k = (int)(rest % size) - (int)WORD(PAD_BEFORE + d);
        rest /= size;
        if (k < 0 || k >= extent) {
            if (P.mode == 0) {
                inside = 0;
            } else if (P.mode == 1 || extent == 1) {
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
    y[i] = inside ? x[at] : (M)(((ulong)P.value_high << 32) | P.value_low);
}
