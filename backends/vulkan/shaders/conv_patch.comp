#include "common.h"
PARAMETERS(Conv)
#include "epilogue.glsl"
// Convolution of 3x3 and 5x5 with steps of 1: a workgroup of 256 makes 64 output channels of a patch of 8 x 32 pixels. A slice of channels
// of the input under it stands in shared memory once, for all taps; an invocation sums eight channels of eight pixels that follow each
// other, and takes each element of the input from a register for the taps of a row. Parameters as conv.comp, with blocks of 64 channels in
// place of the tiles down.
layout(constant_id = 8) const uint KERNEL = 3;
#if defined(HALF)
#define T4 f16vec4
#else
#define T4 vec4
#endif
READ(1, x, T);
READ(2, w, U);
WRITE(6, y, T);
// The same elements, four at once.
layout(set = 0, binding = 6, std430) writeonly buffer Fours { T4 y4[]; };
const uint ROWS = 8;
const uint COLUMNS = 32;
const uint OUTPUTS = 64;
const uint TAPS = KERNEL * KERNEL;
const uint CHUNK = KERNEL == 3 ? 4 : 2;  // channels of a slice
const uint STRIDE = COLUMNS + 4;         // of a row in shared memory: those of other rows fall on other banks
const uint HEIGHT = ROWS + KERNEL - 1;
const uint PATCH = CHUNK * HEIGHT * STRIDE;
const uint DEPTH = CHUNK * TAPS;
const uint FILTER_ROW = OUTPUTS + 4;
const uint FETCH_PATCH = (PATCH + LOCAL - 1) / LOCAL;
const uint FETCH_FILTER = (DEPTH * OUTPUTS + LOCAL - 1) / LOCAL;
shared vec4 patch_of[PATCH / 4];
shared vec4 filter_of[DEPTH * FILTER_ROW / 4];
float next_patch[FETCH_PATCH];
float next_filter[FETCH_FILTER];
vec4 sums[16];  // pixel by pixel, two fours of channels each

// One slice, on its way from memory. What must be 0 reads the first element instead: the compiler starts all loads before it waits.
void fetch(uint map, uint filters, uint first_channel, uint first_row, int top, int left) {
    uint t = gl_LocalInvocationID.x;
    int height = int(P.height);
    int width = int(P.width);
    uint channels = P.channels;
    uint depth = channels * TAPS;
    bool there_patch[FETCH_PATCH];
    bool there_filter[FETCH_FILTER];
    [[unroll]] for (uint i = 0; i < FETCH_PATCH; ++i) {
        uint at = i * LOCAL + t;
        uint channel = first_channel + at / (HEIGHT * STRIDE);
        int row = top + int(at / STRIDE % HEIGHT);
        int column = left + int(at % STRIDE);
        there_patch[i] = at < PATCH && channel < channels && row >= 0 && row < height && column >= 0 && column < width;
        uint place = (channel * uint(height) + uint(row)) * uint(width) + uint(column);
        next_patch[i] = float(x[there_patch[i] ? map + place : map]);
    }
    [[unroll]] for (uint i = 0; i < FETCH_FILTER; ++i) {
        uint at = i * LOCAL + t;
        uint row = first_row + at / DEPTH;
        uint k = first_channel * TAPS + at % DEPTH;
        there_filter[i] = at < DEPTH * OUTPUTS && row < P.outputs && k < depth;
        next_filter[i] = float(w[there_filter[i] ? filters + row * depth + k : filters]);
    }
    [[unroll]] for (uint i = 0; i < FETCH_PATCH; ++i) next_patch[i] = there_patch[i] ? next_patch[i] : 0.0;
    [[unroll]] for (uint i = 0; i < FETCH_FILTER; ++i) next_filter[i] = there_filter[i] ? next_filter[i] : 0.0;
}

void keep() {
    uint t = gl_LocalInvocationID.x;
    [[unroll]] for (uint i = 0; i < FETCH_PATCH; ++i) {
        uint at = i * LOCAL + t;
        if (at < PATCH) patch_of[at / 4][at % 4] = next_patch[i];
    }
    [[unroll]] for (uint i = 0; i < FETCH_FILTER; ++i) {
        uint at = i * LOCAL + t;
        uint place = at % DEPTH * FILTER_ROW + at / DEPTH;
        if (at < DEPTH * OUTPUTS) filter_of[place / 4][place % 4] = next_filter[i];
    }
}

void multiply(uint own_y, uint own_x, uint own_output) {
    for (uint c = 0; c < CHUNK; ++c) {
        [[unroll]] for (uint r = 0; r < KERNEL; ++r) {
            uint from = ((c * HEIGHT + own_y + r) * STRIDE + own_x) / 4;
            vec4 v0 = patch_of[from];
            vec4 v1 = patch_of[from + 1];
            vec4 v2 = patch_of[from + 2];
            float part[12] = float[12](v0.x, v0.y, v0.z, v0.w, v1.x, v1.y, v1.z, v1.w, v2.x, v2.y, v2.z, v2.w);
            [[unroll]] for (uint s = 0; s < KERNEL; ++s) {
                uint taps = ((c * TAPS + r * KERNEL + s) * FILTER_ROW + own_output) / 4;
                vec4 w0 = filter_of[taps];
                vec4 w1 = filter_of[taps + 1];
                [[unroll]] for (uint p = 0; p < 8; ++p) {
                    sums[2 * p] += part[p + s] * w0;
                    sums[2 * p + 1] += part[p + s] * w1;
                }
            }
        }
    }
}

// Four pixels of a channel, of which the first `count` are there.
void store(uint channel, uint place, vec4 v, int count) {
    uint to = base[5] + place;
    [[unroll]] for (uint i = 0; i < 4; ++i)
        if (count > int(i)) v[i] = epilogue(CONV_EPILOGUE, v[i], channel, place + i);
    if (count > 3 && to % 4 == 0) {
        y4[to / 4] = T4(v);
        return;
    }
    if (count > 0) y[to] = T(v.x);
    if (count > 1) y[to + 1] = T(v.y);
    if (count > 2) y[to + 2] = T(v.z);
    if (count > 3) y[to + 3] = T(v.w);
}

void main() {
    uint outputs = P.outputs;
    uint channels = P.channels;
    uint groups = P.groups;
    uint out_height = P.out_height;
    uint out_width = P.out_width;
    uint across = (out_width + COLUMNS - 1) / COLUMNS;
    uint tile = GROUP_INDEX / P.blocks;
    uint first_row = GROUP_INDEX % P.blocks * OUTPUTS;
    uint tile_y = tile / across * ROWS;
    uint tile_x = tile % across * COLUMNS;
    if (tile_y >= out_height) return;
    uint image = gl_WorkGroupID.z / groups;
    uint group = gl_WorkGroupID.z % groups;
    uint t = gl_LocalInvocationID.x;
    uint own_y = t % 32 / 4;
    uint own_x = t % 4 * 8;
    uint own_output = t / 32 * 8;
    uint map = base[0] + (image * groups + group) * channels * P.height * P.width;
    uint filters = base[1] + group * outputs * channels * TAPS;
    int top = int(tile_y) - int(P.pad_top);
    int left = int(tile_x) - int(P.pad_left);
    [[unroll]] for (uint i = 0; i < 16; ++i) sums[i] = vec4(0.0);
    fetch(map, filters, 0, first_row, top, left);
    // Each round loads a slice while it multiplies the one before.
    for (uint first = 0; first < channels; first += CHUNK) {
        keep();
        barrier();
        if (first + CHUNK < channels) fetch(map, filters, first + CHUNK, first_row, top, left);
        multiply(own_y, own_x, own_output);
        barrier();
    }
    uint row = tile_y + own_y;
    uint column = tile_x + own_x;
    [[unroll]] for (uint j = 0; j < 8; ++j) {
        uint own = first_row + own_output + j;
        uint channel = group * outputs + own;
        uint place = ((image * groups * outputs + channel) * out_height + row) * out_width + column;
        [[unroll]] for (uint q = 0; q < 2; ++q) {
            int count = row < out_height && own < outputs ? int(out_width) - int(column + 4 * q) : 0;
            vec4 v = vec4(sums[8 * q + j / 4][j % 4], sums[8 * q + 2 + j / 4][j % 4], sums[8 * q + 4 + j / 4][j % 4],
                          sums[8 * q + 6 + j / 4][j % 4]);
            store(channel, place + 4 * q, v, count);
        }
    }
}
