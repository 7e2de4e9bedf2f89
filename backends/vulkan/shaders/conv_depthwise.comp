#include "common.h"
PARAMETERS(ConvDepthwise)
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
    uint i = INVOCATION_INDEX;
    if (i >= P.elements) return;
    int height = int(P.height);
    int width = int(P.width);
    uint pixels = P.out_height * P.out_width;
    uint map = i / pixels;
    uint pixel = i % pixels;
    uint channel = map % P.groups;
    int top = int(pixel / P.out_width * P.stride_h) - int(P.pad_top);
    int left = int(pixel % P.out_width * P.stride_w) - int(P.pad_left);
    uint from = base[0] + map * uint(height * width);
    uint filters = base[1] + channel * P.kernel_h * P.kernel_w;
    float sum = 0.0;
    for (uint r = 0; r < P.kernel_h; ++r) {
        int row = top + int(r * P.dilation_h);
        if (row < 0 || row >= height) continue;
        for (uint s = 0; s < P.kernel_w; ++s) {
            int place = left + int(s * P.dilation_w);
            if (place < 0 || place >= width) continue;
            sum += float(x[from + uint(row * width + place)]) * float(w[filters + r * P.kernel_w + s]);
        }
    }
    y[base[5] + i] = T(epilogue(CONV_EPILOGUE, sum, channel, i));
}
