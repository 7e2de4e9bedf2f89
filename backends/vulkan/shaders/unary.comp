#version 450
#include "common.glsl"
PARAMETERS(Unary)
#include "functions.glsl"
// y = op(x), both dense. Parameters: elements, a, b.
layout(constant_id = 1) const uint OP = 19;
READ(1, x, T);
WRITE(2, y, T);
void main() {
    uint i = invocation_index();
    if (i < P.elements) y[base[1] + i] = T(unary(OP, float(x[base[0] + i]), P.a, P.b));
}
