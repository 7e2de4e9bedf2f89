#include "common.cl"
#define P PARAMETERS_OF(ConvDepthwise)
#include "functions.h"
#include "epilogue.cl"
// Depthwise convolution, an element of the result an invocation: one filter a channel. Parameters as conv.cl, with the number of
// elements in place of the tiles down.
ENTRY bp_conv_depthwise(PARAMETERS, READ(x, T), READ(w, U), EPILOGUE_ARGUMENTS, WRITE(y, T)) {
    WORDS_HERE;
    AT(x), AT(w), EPILOGUE_AT, AT(y);
    uint i = INVOCATION_INDEX;
    if (i >= P.elements) return;
    int height = (int)P.height;
    int width = (int)P.width;
    uint pixels = P.out_height * P.out_width;
    uint map = i / pixels;
    uint pixel = i % pixels;
    uint channel = map % P.groups;
    int top = (int)(pixel / P.out_width * P.stride_h) - (int)P.pad_top;
    int left = (int)(pixel % P.out_width * P.stride_w) - (int)P.pad_left;
    uint from = map * (uint)(height * width);
    uint filters = channel * P.kernel_h * P.kernel_w;
    float sum = 0.0f;
    for (uint r = 0; r < P.kernel_h; ++r) {
        int row = top + (int)(r * P.dilation_h);
        if (row < 0 || row >= height) continue;
        for (uint s = 0; s < P.kernel_w; ++s) {
            int place = left + (int)(s * P.dilation_w);
            if (place < 0 || place >= width) continue;
            sum += LOAD(x, from + (uint)(row * width + place)) * LOAD_U(w, filters + r * P.kernel_w + s);
        }
    }
    STORE(y, i, EPILOGUE(CONV_EPILOGUE, sum, channel, i));
}
