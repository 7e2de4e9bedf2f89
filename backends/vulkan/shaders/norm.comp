#version 450
#include "common.glsl"
#include "reduction.glsl"
// LayerNorm, RMSNorm, GroupNorm: a workgroup a row of n. Parameters: rows, n, epsilon, flags (1 centred, 2 scale, 4 bias), and which
// scale element i of row r takes: (r % groups) * per_row + i / divisor; groups, per_row, divisor.
READ(1, x, T);
READ(2, scale, T);
READ(3, bias, T);
WRITE(4, y, T);
void main() {
    uint row = group_index();
    if (row >= P(0)) return;
    uint n = P(1);
    uint flags = P(3);
    uint t = gl_LocalInvocationID.x;
    uint start = base[0] + row * n;
    float mean = 0.0;
    if ((flags & 1u) != 0u) {
        float sum = 0.0;
        for (uint i = t; i < n; i += LOCAL) sum += float(x[start + i]);
        mean = group_sum(sum) / float(n);
    }
    float squares = 0.0;
    for (uint i = t; i < n; i += LOCAL) {
        float v = float(x[start + i]) - mean;
        squares += v * v;
    }
    float factor = 1.0 / sqrt(group_sum(squares) / float(n) + PF(2));
    uint first = (row % P(4)) * P(5);
    for (uint i = t; i < n; i += LOCAL) {
        float v = (float(x[start + i]) - mean) * factor;
        uint c = first + i / P(6);
        if ((flags & 2u) != 0u) v *= float(scale[base[1] + c]);
        if ((flags & 4u) != 0u) v += float(bias[base[2] + c]);
        y[base[3] + row * n + i] = T(v);
    }
}
