#version 450
#include "common.glsl"
// y = op(x) for whole numbers. Parameters: elements, least (2 words), most (2 words).
#if defined(LONG)
#define I int64_t
#define BOUND(k) I(packInt2x32(ivec2(P(k), P(k + 1))))
#else
#define I int
#define BOUND(k) int(P(k))
#endif
layout(constant_id = 1) const uint OP = 19;
READ(1, x, I);
WRITE(2, y, I);
void main() {
    uint i = invocation_index();
    if (i >= P(0)) return;
    I v = x[base[0] + i];
    switch (OP) {
        case 10u: v = v < I(0) ? -v : v; break;
        case 11u: v = -v; break;
        case 19u: v = v < I(0) ? I(0) : v; break;
        case 26u:
            v = v > BOUND(1) ? v : BOUND(1);
            v = v < BOUND(3) ? v : BOUND(3);
            break;
    }
    y[base[1] + i] = v;
}
