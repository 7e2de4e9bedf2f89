#include "common.h"
PARAMETERS(Conv)
#include "epilogue.glsl"
// Convolution without shared memory, for devices that emulate it: an invocation makes eight output channels of four pixels.
// Parameters as conv.kernel, with blocks of eight channels in place of the tiles down.
READ(1, x, T);
READ(2, w, U);
WRITE(6, y, T);
const uint kOutputs = 8;
const uint kPixels = 4;
void main() {
    uint outputs = P.outputs;
    uint channels = P.channels;
    uint groups = P.groups;
    int height = int(P.height);
    int width = int(P.width);
    uint pixels = P.out_height * P.out_width;
    uint taps = P.kernel_h * P.kernel_w;
    uint depth = channels * taps;
    uint first_row = GROUP_INDEX % P.blocks * kOutputs;
    uint first_pixel = GROUP_INDEX / P.blocks * gl_WorkGroupSize.x * kPixels + gl_LocalInvocationID.x;
    uint image = gl_WorkGroupID.z / groups;
    uint group = gl_WorkGroupID.z % groups;
    uint map_size = uint(height * width);
    uint map = base[0] + (image * groups + group) * channels * map_size;
    uint filters = base[1] + (group * outputs + first_row) * depth;
    uint most = min(kOutputs, outputs - first_row) - 1;
    int top[kPixels];
    int left[kPixels];
    float sums[kPixels * kOutputs];
    [[unroll]] for (uint p = 0; p < kPixels; ++p) {
        uint pixel = first_pixel + p * gl_WorkGroupSize.x;
        top[p] = pixel < pixels ? int(pixel / P.out_width * P.stride_h) - int(P.pad_top) : height;
        left[p] = int(pixel % P.out_width * P.stride_w) - int(P.pad_left);
        [[unroll]] for (uint i = 0; i < kOutputs; ++i) sums[p * kOutputs + i] = 0.0;
    }
    for (uint r = 0; r < P.kernel_h; ++r) {
        for (uint s = 0; s < P.kernel_w; ++s) {
            uint from[kPixels];
            bool there[kPixels];
            [[unroll]] for (uint p = 0; p < kPixels; ++p) {
                int row = top[p] + int(r * P.dilation_h);
                int place = left[p] + int(s * P.dilation_w);
                there[p] = row >= 0 && row < height && place >= 0 && place < width;
                from[p] = there[p] ? map + uint(row * width + place) : map;
            }
            uint at = filters + r * P.kernel_w + s;
            for (uint c = 0; c < channels; ++c) {
                float v[kPixels];
                [[unroll]] for (uint p = 0; p < kPixels; ++p) {
                    float loaded = float(x[from[p]]);
                    v[p] = there[p] ? loaded : 0.0;
                    from[p] += there[p] ? map_size : 0u;
                }
                [[unroll]] for (uint i = 0; i < kOutputs; ++i) {
                    float f = float(w[at + min(i, most) * depth]);
                    [[unroll]] for (uint p = 0; p < kPixels; ++p) sums[p * kOutputs + i] += v[p] * f;
                }
                at += taps;
            }
        }
    }
    [[unroll]] for (uint p = 0; p < kPixels; ++p) {
        uint pixel = first_pixel + p * gl_WorkGroupSize.x;
        if (pixel >= pixels) continue;
        [[unroll]] for (uint i = 0; i < kOutputs; ++i) {
            if (i > most) continue;
            uint channel = group * outputs + first_row + i;
            uint to = (image * groups * outputs + channel) * pixels + pixel;
            y[base[5] + to] = T(epilogue(CONV_EPILOGUE, sums[p * kOutputs + i], channel, to));
        }
    }
}
