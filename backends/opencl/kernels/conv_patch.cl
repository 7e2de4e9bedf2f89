#include "common.cl"
#define P PARAMETERS_OF(Conv)
#include "epilogue.cl"
// Convolution of 3x3 and 5x5 with steps of 1: a workgroup of 256 makes 64 output channels of a patch of 8 x 32 pixels. A slice of channels
// of the input under it stands in local memory once, for all taps; an invocation sums eight channels of eight pixels that follow each
// other, and takes each element of the input from a register for the taps of a row. Parameters as conv.cl, with blocks of 64 channels in
// place of the tiles down.
#define KERNEL C8
#define ROWS 8
#define COLUMNS 32
#define OUTPUTS 64
#define TAPS (KERNEL * KERNEL)
#define CHUNK (KERNEL == 3 ? 4 : 2)  // channels of a slice
#define STRIDE (COLUMNS + 4)         // of a row in local memory: those of other rows fall on other banks
#define HEIGHT (ROWS + KERNEL - 1)
#define PATCH (CHUNK * HEIGHT * STRIDE)
#define DEPTH (CHUNK * TAPS)
#define FILTER_ROW (OUTPUTS + 4)
#define FETCH_PATCH ((PATCH + LOCAL - 1) / LOCAL)
#define FETCH_FILTER ((DEPTH * OUTPUTS + LOCAL - 1) / LOCAL)

// One slice, on its way from memory. What must be 0 reads the first element instead: the compiler starts all loads before it waits.
void fetch(constant uint *words, global const T *map, global const U *filters, uint first_channel, uint first_row, int top, int left,
           float *next_patch, float *next_filter) {
    uint t = get_local_id(0);
    int height = (int)P.height;
    int width = (int)P.width;
    uint depth = P.channels * TAPS;
    UNROLL for (uint i = 0; i < FETCH_PATCH; ++i) {
        uint at = i * LOCAL + t;
        uint channel = first_channel + at / (HEIGHT * STRIDE);
        int row = top + (int)(at / STRIDE % HEIGHT);
        int column = left + (int)(at % STRIDE);
        int there = at < PATCH && channel < P.channels && row >= 0 && row < height && column >= 0 && column < width;
        float v = LOAD(map, there ? (channel * (uint)height + (uint)row) * (uint)width + (uint)column : 0);
        next_patch[i] = there ? v : 0.0f;
    }
    UNROLL for (uint i = 0; i < FETCH_FILTER; ++i) {
        uint at = i * LOCAL + t;
        uint output = first_row + at / DEPTH;
        uint k = first_channel * TAPS + at % DEPTH;
        int there = at < DEPTH * OUTPUTS && output < P.outputs && k < depth;
        float v = LOAD_U(filters, there ? output * depth + k : 0);
        next_filter[i] = there ? v : 0.0f;
    }
}

ENTRY bp_conv_patch(PARAMETERS, READ(x, T), READ(w, U), EPILOGUE_ARGUMENTS, WRITE(y, T)) {
    local float4 patch[PATCH / 4];
    local float4 filter[DEPTH * FILTER_ROW / 4];
    WORDS_HERE;
    AT(x), AT(w), EPILOGUE_AT, AT(y);
    uint outputs = P.outputs;
    uint groups = P.groups;
    uint out_height = P.out_height;
    uint out_width = P.out_width;
    uint across = (out_width + COLUMNS - 1) / COLUMNS;
    uint tile = GROUP_INDEX / P.blocks;
    uint first_row = GROUP_INDEX % P.blocks * OUTPUTS;
    uint tile_y = tile / across * ROWS;
    uint tile_x = tile % across * COLUMNS;
    if (tile_y >= out_height) return;
    uint image = get_group_id(2) / groups;
    uint group = get_group_id(2) % groups;
    uint t = get_local_id(0);
    uint own_y = t % 32 / 4;
    uint own_x = t % 4 * 8;
    uint own_output = t / 32 * 8;
    global const T *map = x + (image * groups + group) * P.channels * P.height * P.width;
    global const U *filters = w + group * outputs * P.channels * TAPS;
    float4 sums[16];  // pixel by pixel, two fours of channels each
    UNROLL for (uint i = 0; i < 16; ++i) sums[i] = (float4)(0.0f);
    float next_patch[FETCH_PATCH];
    float next_filter[FETCH_FILTER];
    // Each round loads a slice while it multiplies the one before.
    for (uint first = 0;; first += CHUNK) {
        if (first < P.channels)
            fetch(words, map, filters, first, first_row, (int)tile_y - (int)P.pad_top, (int)tile_x - (int)P.pad_left, next_patch, next_filter);
        if (first > 0) {
            for (uint c = 0; c < CHUNK; ++c) {
                UNROLL for (uint r = 0; r < KERNEL; ++r) {
                    local const float4 *from = patch + ((c * HEIGHT + own_y + r) * STRIDE + own_x) / 4;
                    float4 v[3] = {from[0], from[1], from[2]};
                    float in[12] = {v[0].x, v[0].y, v[0].z, v[0].w, v[1].x, v[1].y, v[1].z, v[1].w, v[2].x, v[2].y, v[2].z, v[2].w};
                    UNROLL for (uint s = 0; s < KERNEL; ++s) {
                        local const float4 *taps = filter + ((c * TAPS + r * KERNEL + s) * FILTER_ROW + own_output) / 4;
                        float4 w0 = taps[0];
                        float4 w1 = taps[1];
                        UNROLL for (uint p = 0; p < 8; ++p) {
                            sums[2 * p] += in[p + s] * w0;
                            sums[2 * p + 1] += in[p + s] * w1;
                        }
                    }
                }
            }
        }
        if (first >= P.channels) break;
        barrier(CLK_LOCAL_MEM_FENCE);
        UNROLL for (uint i = 0; i < FETCH_PATCH; ++i)
            if (i * LOCAL + t < PATCH) ((local float *)patch)[i * LOCAL + t] = next_patch[i];
        UNROLL for (uint i = 0; i < FETCH_FILTER; ++i) {
            uint at = i * LOCAL + t;
            if (at < DEPTH * OUTPUTS) ((local float *)filter)[at % DEPTH * FILTER_ROW + at / DEPTH] = next_filter[i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    uint row = tile_y + own_y;
    uint column = tile_x + own_x;
    UNROLL for (uint j = 0; j < 8; ++j) {
        uint output = first_row + own_output + j;
        uint channel = group * outputs + output;
        uint place = ((image * groups * outputs + channel) * out_height + row) * out_width + column;
        UNROLL for (uint q = 0; q < 2; ++q) {
            int count = row < out_height && output < outputs ? (int)out_width - (int)(column + 4 * q) : 0;
            float4 v;
            v.x = count > 0 ? EPILOGUE(CONV_EPILOGUE, part_of(sums[8 * q + 0 + j / 4], j % 4), channel, place + 4 * q) : 0.0f;
            v.y = count > 1 ? EPILOGUE(CONV_EPILOGUE, part_of(sums[8 * q + 2 + j / 4], j % 4), channel, place + 4 * q + 1) : 0.0f;
            v.z = count > 2 ? EPILOGUE(CONV_EPILOGUE, part_of(sums[8 * q + 4 + j / 4], j % 4), channel, place + 4 * q + 2) : 0.0f;
            v.w = count > 3 ? EPILOGUE(CONV_EPILOGUE, part_of(sums[8 * q + 6 + j / 4], j % 4), channel, place + 4 * q + 3) : 0.0f;
            STORE_4(y, place + 4 * q, v, count);
        }
    }
}
