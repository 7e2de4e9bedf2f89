#version 450
#include "common.glsl"
PARAMETERS(Norm)
#include "reduction.glsl"
// LayerNorm, RMSNorm, GroupNorm: a workgroup a row of n. Parameters: rows, n, epsilon, flags (1 centred, 2 scale, 4 bias), and which
// scale element i of row r takes: (r % groups) * per_row + i / divisor; groups, per_row, divisor.
READ(1, x, T);
READ(2, scale, T);
READ(3, bias, T);
WRITE(4, y, T);
void main() {
    uint row = group_index();
    if (row >= P.rows) return;
    uint n = P.n;
    uint flags = P.flags;
    uint t = gl_LocalInvocationID.x;
    uint start = base[0] + row * n;
    float mean = 0.0;
    if ((flags & NORM_CENTRED) != 0u) {
        float sum = 0.0;
        for (uint i = t; i < n; i += LOCAL) sum += float(x[start + i]);
        mean = group_sum(sum) / float(n);
    }
    float squares = 0.0;
    for (uint i = t; i < n; i += LOCAL) {
        float v = float(x[start + i]) - mean;
        squares += v * v;
    }
    float factor = 1.0 / sqrt(group_sum(squares) / float(n) + P.epsilon);
    uint first = (row % P.groups) * P.per_row;
    for (uint i = t; i < n; i += LOCAL) {
        float v = (float(x[start + i]) - mean) * factor;
        uint c = first + i / P.divisor;
        if ((flags & NORM_SCALE) != 0u) v *= float(scale[base[1] + c]);
        if ((flags & NORM_BIAS) != 0u) v += float(bias[base[2] + c]);
        y[base[3] + row * n + i] = T(v);
    }
}
