#version 450
#include "common.glsl"
PARAMETERS(BatchNorm)
// BatchNorm. Parameters: elements, channels, pixels, epsilon.
READ(1, x, T);
READ(2, scale, T);
READ(3, bias, T);
READ(4, mean, T);
READ(5, variance, T);
WRITE(6, y, T);
void main() {
    uint i = invocation_index();
    if (i >= P.elements) return;
    uint c = i / P.pixels % P.channels;
    float factor = float(scale[base[1] + c]) / sqrt(float(variance[base[4] + c]) + P.epsilon);
    y[base[5] + i] = T((float(x[base[0] + i]) - float(mean[base[3] + c])) * factor + float(bias[base[2] + c]));
}
