#include "common.cl"
#define P PARAMETERS_OF(Conv)
#include "epilogue.cl"
// Convolution without local memory, for devices that emulate it (CPUs): an invocation makes eight output channels of sixteen pixels that
// follow each other, as vectors. Parameters as conv.kernel, with blocks of eight channels in place of the tiles down.
#define OUTPUTS 8
#define PIXELS 16
#if defined(HALF)
#define LOAD_16(p, i) vload_half16(0, (p) + (i))
#else
#define LOAD_16(p, i) vload16(0, (p) + (i))
#endif

typedef union {
    float16 all;
    float one[PIXELS];
} Pixels;

// Sixteen pixels of the result under one tap: where they lie in a map of the input.
typedef struct {
    int at[PIXELS];  // -1: outside
    int together;    // one behind the other, all inside
} Places;

Places places_of(constant uint *words, uint first_pixel, uint pixels, uint r, uint s) {
    Places out;
    int height = (int)P.height;
    int width = (int)P.width;
    uint out_width = P.out_width;
    uint row = first_pixel / out_width;
    uint column = first_pixel % out_width;
    out.together = P.stride_w == 1 && column + PIXELS <= out_width;
    int y = (int)(row * P.stride_h) - (int)P.pad_top + (int)(r * P.dilation_h);
    int x = (int)(column * P.stride_w) - (int)P.pad_left + (int)(s * P.dilation_w);
    if (out.together && y >= 0 && y < height && x >= 0 && x + PIXELS <= width) {
        out.at[0] = y * width + x;
        return out;
    }
    out.together = 0;
    for (uint p = 0; p < PIXELS; ++p) {
        int inside = first_pixel + p < pixels && y >= 0 && y < height && x >= 0 && x < width;
        out.at[p] = inside ? y * width + x : -1;
        x += (int)P.stride_w;
        if (++column == out_width) {
            column = 0;
            ++row;
            y = (int)(row * P.stride_h) - (int)P.pad_top + (int)(r * P.dilation_h);
            x = (int)(s * P.dilation_w) - (int)P.pad_left;
        }
    }
    return out;
}

ENTRY bp_conv_direct(PARAMETERS, READ(x, T), READ(w, U), EPILOGUE_ARGUMENTS, WRITE(y, T)) {
    WORDS_HERE;
    AT(x), AT(w), EPILOGUE_AT, AT(y);
    uint outputs = P.outputs;
    uint channels = P.channels;
    uint groups = P.groups;
    uint pixels = P.out_height * P.out_width;
    uint taps = P.kernel_h * P.kernel_w;
    uint depth = channels * taps;
    uint first_row = GROUP_INDEX % P.blocks * OUTPUTS;
    uint first_pixel = (GROUP_INDEX / P.blocks * LOCAL + get_local_id(0)) * PIXELS;
    if (first_pixel >= pixels) return;
    uint image = get_group_id(2) / groups;
    uint group = get_group_id(2) % groups;
    uint map_size = P.height * P.width;
    global const T *map = x + (ulong)(image * groups + group) * channels * map_size;
    uint most = min((uint)OUTPUTS, outputs - first_row) - 1;
    global const U *filters = w + (ulong)(group * outputs + first_row) * depth;
    float16 sums[OUTPUTS];
    for (uint i = 0; i < OUTPUTS; ++i) sums[i] = (float16)(0.0f);
    for (uint r = 0; r < P.kernel_h; ++r) {
        for (uint s = 0; s < P.kernel_w; ++s) {
            Places places = places_of(words, first_pixel, pixels, r, s);
            global const U *filter = filters + r * P.kernel_w + s;
            global const T *from = map;
            for (uint c = 0; c < channels; ++c) {
                Pixels v;
                if (places.together) {
                    v.all = LOAD_16(from, places.at[0]);
                } else {
                    for (uint p = 0; p < PIXELS; ++p) v.one[p] = places.at[p] >= 0 ? LOAD(from, places.at[p]) : 0.0f;
                }
                UNROLL for (uint i = 0; i < OUTPUTS; ++i)
                    sums[i] += v.all * LOAD_U(filter, min(i, most) * depth);
                filter += taps;
                from += map_size;
            }
        }
    }
    for (uint i = 0; i <= most; ++i) {
        uint channel = group * outputs + first_row + i;
        ulong row = (ulong)(image * groups * outputs + channel) * pixels;
        Pixels out;
        out.all = sums[i];
        for (uint p = 0; p < PIXELS && first_pixel + p < pixels; ++p) {
            uint place = (uint)row + first_pixel + p;
            STORE(y, place, EPILOGUE(CONV_EPILOGUE, out.one[p], channel, place));
        }
    }
}
