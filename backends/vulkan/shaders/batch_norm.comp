#version 450
#include "common.glsl"
// BatchNorm. Parameters: elements, channels, pixels, epsilon.
READ(1, x, T);
READ(2, scale, T);
READ(3, bias, T);
READ(4, mean, T);
READ(5, variance, T);
WRITE(6, y, T);
void main() {
    uint i = invocation_index();
    if (i >= P(0)) return;
    uint c = i / P(2) % P(1);
    float factor = float(scale[base[1] + c]) / sqrt(float(variance[base[4] + c]) + PF(3));
    y[base[5] + i] = T((float(x[base[0] + i]) - float(mean[base[3] + c])) * factor + float(bias[base[2] + c]));
}
