#version 450
#include "common.glsl"
PARAMETERS(Pad)
#include "move.glsl"
// Pad. Parameters: elements, mode, the fill (2 words), rank, extents of y[8], extents of x[8], pads before[8].
READ(1, x, M);
WRITE(2, y, M);
void main() {
    uint i = invocation_index();
    if (i >= P.elements) return;
    uint rest = i;
    uint at = 0;
    uint stride = 1;
    bool inside = true;
    for (uint d = P.rank; d-- > 0;) {
        int size = int(WORD(PAD_SIZES + d));
        int extent = int(WORD(PAD_EXTENTS + d));
        int k = int(rest % uint(size)) - int(WORD(PAD_BEFORE + d));
        rest /= uint(size);
        if (k < 0 || k >= extent) {
            if (P.mode == 0) {
                inside = false;
            } else if (P.mode == 1 || extent == 1) {
                k = k < 0 ? 0 : extent - 1;
            } else {
                int period = 2 * (extent - 1);
                k = abs(k) % period;
                if (k >= extent) k = period - k;
            }
        }
        if (inside) at += uint(k) * stride;
        stride *= uint(extent);
    }
    if (inside) {
        y[base[1] + i] = x[base[0] + at];
        return;
    }
#if SIZE == 8
    y[base[1] + i] = uvec2(P.value_low, P.value_high);
#else
    y[base[1] + i] = M(P.value_low);
#endif
}
