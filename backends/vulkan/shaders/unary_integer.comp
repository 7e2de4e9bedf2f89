#version 450
#include "common.glsl"
PARAMETERS(UnaryInteger)
// y = op(x) for whole numbers. Parameters: elements, least (2 words), most (2 words).
#if defined(LONG)
#define I int64_t
#define BOUND(k) I(packInt2x32(ivec2(WORD(k), WORD(k + 1))))
#else
#define I int
#define BOUND(k) int(WORD(k))
#endif
layout(constant_id = 1) const uint OP = 19;
READ(1, x, I);
WRITE(2, y, I);
void main() {
    uint i = invocation_index();
    if (i >= P.elements) return;
    I v = x[base[0] + i];
    switch (OP) {
        case BP_OP_abs: v = v < I(0) ? -v : v; break;
        case BP_OP_neg: v = -v; break;
        case BP_OP_relu: v = v < I(0) ? I(0) : v; break;
        case BP_OP_clip:
            v = v > BOUND(UNARY_INTEGER_BOUNDS) ? v : BOUND(UNARY_INTEGER_BOUNDS);
            v = v < BOUND(UNARY_INTEGER_BOUNDS + 2) ? v : BOUND(UNARY_INTEGER_BOUNDS + 2);
            break;
    }
    y[base[1] + i] = v;
}
