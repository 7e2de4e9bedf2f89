#version 450
#include "common.glsl"
#if defined(HALF_WEIGHTS)
#extension GL_EXT_shader_16bit_storage : require
#define U float16_t
#else
#define U T
#endif
#include "epilogue.glsl"
// Depthwise convolution, an element of the result an invocation: one filter a channel. Parameters as conv.comp, with the number of
// elements in place of the tiles down.
READ(1, x, T);
READ(2, w, U);
WRITE(6, y, T);
void main() {
    uint i = invocation_index();
    if (i >= P(15)) return;
    int height = int(P(3));
    int width = int(P(4));
    uint pixels = P(5) * P(6);
    uint map = i / pixels;
    uint pixel = i % pixels;
    uint channel = map % P(2);
    int top = int(pixel / P(6) * P(9)) - int(P(11));
    int left = int(pixel % P(6) * P(10)) - int(P(12));
    uint from = base[0] + map * uint(height * width);
    uint filters = base[1] + channel * P(7) * P(8);
    float sum = 0.0;
    for (uint r = 0; r < P(7); ++r) {
        int row = top + int(r * P(13));
        if (row < 0 || row >= height) continue;
        for (uint s = 0; s < P(8); ++s) {
            int place = left + int(s * P(14));
            if (place < 0 || place >= width) continue;
            sum += float(x[from + uint(row * width + place)]) * float(w[filters + r * P(8) + s]);
        }
    }
    y[base[5] + i] = T(epilogue(16, sum, channel, i));
}
