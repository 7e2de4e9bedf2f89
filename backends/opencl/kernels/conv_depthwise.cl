#include "common.cl"
#include "functions.cl"
#include "epilogue.cl"
// Depthwise convolution, an element of the result an invocation: one filter a channel. Parameters as conv.cl, with the number of
// elements in place of the tiles down.
ENTRY bp_conv_depthwise(PARAMETERS, READ(x, T), READ(w, U), EPILOGUE_ARGUMENTS, WRITE(y, T)) {
    BEGIN;
    AT(x), AT(w), EPILOGUE_AT, AT(y);
    uint i = invocation_index();
    if (i >= P(15)) return;
    int height = (int)P(3);
    int width = (int)P(4);
    uint pixels = P(5) * P(6);
    uint map = i / pixels;
    uint pixel = i % pixels;
    uint channel = map % P(2);
    int top = (int)(pixel / P(6) * P(9)) - (int)P(11);
    int left = (int)(pixel % P(6) * P(10)) - (int)P(12);
    uint from = map * (uint)(height * width);
    uint filters = channel * P(7) * P(8);
    float sum = 0.0f;
    for (uint r = 0; r < P(7); ++r) {
        int row = top + (int)(r * P(13));
        if (row < 0 || row >= height) continue;
        for (uint s = 0; s < P(8); ++s) {
            int place = left + (int)(s * P(14));
            if (place < 0 || place >= width) continue;
            sum += LOAD(x, from + (uint)(row * width + place)) * LOAD_U(w, filters + r * P(8) + s);
        }
    }
    STORE(y, i, EPILOGUE(16, sum, channel, i));
}
