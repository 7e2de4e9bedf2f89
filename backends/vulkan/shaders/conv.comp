#version 450
#include "common.glsl"
#if defined(HALF_WEIGHTS)
#extension GL_EXT_shader_16bit_storage : require
#define U float16_t
#else
#define U T
#endif
#include "tile.glsl"
#include "epilogue.glsl"
// Convolution as a product of the filters [O, C kh kw] and the columns of the input, which are never stored. Parameters: output
// channels and channels of a group, groups, H, W, H', W', kh, kw, strides, pads top and left, dilations, tiles down, then the
// epilogue.
layout(constant_id = 8) const uint KERNEL = 0;  // kh = kw when not 0; strides and dilations are 1 then
layout(constant_id = 9) const uint UNIT_STEPS = 0;  // strides and dilations are 1
READ(1, x, T);
READ(2, w, U);
WRITE(6, y, T);

void main() {
    uint outputs = P(0);
    uint channels = P(1);
    uint groups = P(2);
    int height = int(P(3));
    int width = int(P(4));
    uint out_width = P(6);
    uint pixels = P(5) * out_width;
    uint kernel_h = KERNEL != 0 ? KERNEL : P(7);
    uint kernel_w = KERNEL != 0 ? KERNEL : P(8);
    uint taps = kernel_h * kernel_w;
    uint depth = channels * taps;
    int dilation_h = UNIT_STEPS != 0 ? 1 : int(P(13));
    int dilation_w = UNIT_STEPS != 0 ? 1 : int(P(14));
    uint tile = group_index();
    uint first_row = tile % P(15) * BM;
    uint first_column = tile / P(15) * BN;
    if (first_column >= pixels) return;
    uint image = gl_WorkGroupID.z / groups;
    uint group = gl_WorkGroupID.z % groups;
    uint t = gl_LocalInvocationID.x;
    // The pixel whose columns this invocation loads.
    uint column = t % BN;
    uint pixel = first_column + column;
    bool valid = pixel < pixels;
    int top = int(pixel / out_width * (UNIT_STEPS != 0 ? 1u : P(9))) - int(P(11));
    int left = int(pixel % out_width * (UNIT_STEPS != 0 ? 1u : P(10))) - int(P(12));
    uint map_size = uint(height * width);
    uint map = base[0] + (image * groups + group) * channels * map_size;
    int corner = top * width + left;
    // Which taps of the filter meet the input at this pixel, for filters of up to 25 taps.
    uint inside = 0;
    if (KERNEL != 0) {
        [[unroll]] for (uint tap = 0; tap < taps; ++tap) {
            int row = top + int(tap / kernel_w);
            int place = left + int(tap % kernel_w);
            if (valid && row >= 0 && row < height && place >= 0 && place < width) inside |= 1u << tap;
        }
    }
    uint filters = base[1] + group * outputs * depth;
    clear_sums();
    for (uint first = 0; first < depth; first += BK) {
        [[unroll]] for (uint i = 0; i < BM * BK; i += LOCAL) {
            uint at = i + t;
            uint m = at / BK;
            uint k = first + at % BK;
            if (at < BM * BK)
                put_a(at % BK, m, first_row + m < outputs && k < depth ? float(w[filters + (first_row + m) * depth + k]) : 0.0);
        }
        [[unroll]] for (uint i = 0; i < BK; i += LOCAL / BN) {
            uint slice = i + t / BN;
            uint k = first + slice;
            uint c = k / taps;
            uint tap = k % taps;
            float v = 0.0;
            if (KERNEL != 0) {
                if (k < depth && (inside >> tap & 1u) != 0u)
                    v = float(x[map + c * map_size + uint(corner + int(tap / kernel_w) * width + int(tap % kernel_w))]);
            } else if (valid && k < depth) {
                int row = top + int(tap / kernel_w) * dilation_h;
                int place = left + int(tap % kernel_w) * dilation_w;
                if (row >= 0 && row < height && place >= 0 && place < width)
                    v = float(x[map + c * map_size + uint(row * width + place)]);
            }
            if (slice < BK) put_b(slice, column, v);
        }
        barrier();
        multiply_tiles();
        barrier();
    }
    [[unroll]] for (uint i = 0; i < TM; ++i) {
        uint row = first_row + row_of(i);
        [[unroll]] for (uint j = 0; j < TN; ++j) {
            uint at = first_column + column_of(j);
            if (row >= outputs || at >= pixels) continue;
            uint channel = group * outputs + row;
            uint place = (image * groups * outputs + channel) * pixels + at;
            y[base[5] + place] = T(epilogue(16, sum_of(i, j), channel, place));
        }
    }
}
