#version 450
#include "common.glsl"
#include "move.glsl"
// Pad. Parameters: elements, mode, the fill (2 words), rank, extents of y[8], extents of x[8], pads before[8].
READ(1, x, M);
WRITE(2, y, M);
void main() {
    uint i = invocation_index();
    if (i >= P(0)) return;
    uint rest = i;
    uint at = 0;
    uint stride = 1;
    bool inside = true;
    for (uint d = P(4); d-- > 0;) {
        int size = int(P(5 + d));
        int extent = int(P(13 + d));
        int k = int(rest % uint(size)) - int(P(21 + d));
        rest /= uint(size);
        if (k < 0 || k >= extent) {
            if (P(1) == 0) {
                inside = false;
            } else if (P(1) == 1 || extent == 1) {
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
    y[base[1] + i] = uvec2(P(2), P(3));
#else
    y[base[1] + i] = M(P(2));
#endif
}
