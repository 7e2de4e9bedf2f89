#version 450
#include "common.glsl"
PARAMETERS(Softmax)
#include "functions.glsl"
#include "reduction.glsl"
// Softmax: a workgroup a row. Parameters: rows, n, stride of the axis.
READ(1, x, T);
WRITE(2, y, T);
void main() {
    uint row = group_index();
    if (row >= P.rows) return;
    uint n = P.n;
    uint stride = P.stride;
    uint start = row / stride * stride * n + row % stride;
    uint t = gl_LocalInvocationID.x;
    float most = -kInfinity;
    for (uint i = t; i < n; i += LOCAL) {
        float v = float(x[base[0] + start + i * stride]);
        if (v > most || is_nan(v)) most = v;
    }
    partial[t] = most;
    barrier();
    for (uint step = LOCAL / 2; step > 0; step /= 2) {
        if (t < step) {
            float other = partial[t + step];
            if (other > partial[t] || is_nan(other)) partial[t] = other;
        }
        barrier();
    }
    most = partial[0];
    barrier();
    float sum = 0.0;
    for (uint i = t; i < n; i += LOCAL) sum += exp_(float(x[base[0] + start + i * stride]) - most);
    float factor = 1.0 / group_sum(sum);
    for (uint i = t; i < n; i += LOCAL) {
        uint at = start + i * stride;
        y[base[1] + at] = T(exp_(float(x[base[0] + at]) - most) * factor);
    }
}
