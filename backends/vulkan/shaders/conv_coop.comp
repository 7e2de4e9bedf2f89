#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
#include "common.h"
PARAMETERS(Conv)
#include "epilogue.glsl"
// As conv.kernel, on the matrix units: operands in f16, sums in float32. A workgroup of four subgroups of 32 makes 64 output channels x 128
// pixels; each subgroup 64 x 32. Parameters as conv.kernel.
layout(constant_id = 8) const uint KERNEL = 0;  // kh = kw when not 0; strides and dilations are 1 then
READ(1, x, T);
READ(2, w, T);
WRITE(6, y, T);
const uint BM = 64;
const uint BN = 128;
const uint BK = 32;
const uint kRowA = BK + 8;
const uint kRowB = BN + 8;
shared float16_t tile_a[BM * kRowA];
shared float16_t tile_b[BK * kRowB];
shared float stage[4 * 16 * 16];

// The pixel whose columns this invocation loads, as in conv.kernel.
struct Source {
    uint map;
    int corner;
    int top, left;
    uint inside;
    bool valid;
};
float16_t next_a[BM / 4];
float16_t next_b[BK];
uint first_filter;

void fetch(Source from, uint first, uint first_row, uint t) {
    uint kernel_h = KERNEL != 0 ? KERNEL : P.kernel_h;
    uint kernel_w = KERNEL != 0 ? KERNEL : P.kernel_w;
    uint taps = kernel_h * kernel_w;
    uint depth = P.channels * taps;
    int height = int(P.height);
    int width = int(P.width);
    uint map_size = uint(height * width);
    bool there_a[BM / 4];
    bool there_b[BK];
    [[unroll]] for (uint i = 0; i < BM / 4; ++i) {
        uint m = first_row + i * 4 + t / 32;
        uint k = first + t % 32;
        there_a[i] = m < P.outputs && k < depth;
        next_a[i] = float16_t(w[there_a[i] ? first_filter + m * depth + k : first_filter]);
    }
    [[unroll]] for (uint i = 0; i < BK; ++i) {
        uint k = first + i;
        uint c = k / taps;
        uint tap = k % taps;
        int place = 0;
        if (KERNEL != 0) {
            there_b[i] = k < depth && (from.inside >> tap & 1u) != 0u;
            place = from.corner + int(tap / kernel_w) * width + int(tap % kernel_w);
        } else {
            int row = from.top + int(tap / kernel_w * P.dilation_h);
            int column = from.left + int(tap % kernel_w * P.dilation_w);
            there_b[i] = from.valid && k < depth && row >= 0 && row < height && column >= 0 && column < width;
            place = row * width + column;
        }
        next_b[i] = float16_t(x[there_b[i] ? from.map + c * map_size + uint(place) : from.map]);
    }
    [[unroll]] for (uint i = 0; i < BM / 4; ++i) next_a[i] = there_a[i] ? next_a[i] : float16_t(0.0);
    [[unroll]] for (uint i = 0; i < BK; ++i) next_b[i] = there_b[i] ? next_b[i] : float16_t(0.0);
}

void keep(uint t) {
    [[unroll]] for (uint i = 0; i < BM / 4; ++i) tile_a[(i * 4 + t / 32) * kRowA + t % 32] = next_a[i];
    [[unroll]] for (uint i = 0; i < BK; ++i) tile_b[i * kRowB + t] = next_b[i];
}

void main() {
    uint outputs = P.outputs;
    uint channels = P.channels;
    uint groups = P.groups;
    int height = int(P.height);
    int width = int(P.width);
    uint out_width = P.out_width;
    uint pixels = P.out_height * out_width;
    uint kernel_h = KERNEL != 0 ? KERNEL : P.kernel_h;
    uint kernel_w = KERNEL != 0 ? KERNEL : P.kernel_w;
    uint taps = kernel_h * kernel_w;
    uint depth = channels * taps;
    uint tile = GROUP_INDEX;
    uint first_row = tile % P.blocks * BM;
    uint first_column = tile / P.blocks * BN;
    if (first_column >= pixels) return;
    uint image = gl_WorkGroupID.z / groups;
    uint group = gl_WorkGroupID.z % groups;
    uint t = gl_LocalInvocationID.x;
    uint pixel = first_column + t;
    bool valid = pixel < pixels;
    int top = int(pixel / out_width * P.stride_h) - int(P.pad_top);
    int left = int(pixel % out_width * P.stride_w) - int(P.pad_left);
    uint map_size = uint(height * width);
    uint map = base[0] + (image * groups + group) * channels * map_size;
    int corner = top * width + left;
    uint inside = 0;
    if (KERNEL != 0) {
        [[unroll]] for (uint tap = 0; tap < taps; ++tap) {
            int row = top + int(tap / kernel_w);
            int place = left + int(tap % kernel_w);
            if (valid && row >= 0 && row < height && place >= 0 && place < width) inside |= 1u << tap;
        }
    }
    Source from = Source(map, corner, top, left, inside, valid);
    first_filter = base[1] + group * outputs * depth;
    fetch(from, 0, first_row, t);
    fcoopmatNV<32, gl_ScopeSubgroup, 16, 16> sums[4][2];
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        [[unroll]] for (uint j = 0; j < 2; ++j) sums[i][j] = fcoopmatNV<32, gl_ScopeSubgroup, 16, 16>(0.0);
    }
    uint strip = gl_SubgroupID * 32;
    for (uint first = 0; first < depth; first += BK) {
        keep(t);
        barrier();
        if (first + BK < depth) fetch(from, first + BK, first_row, t);
        [[unroll]] for (uint k = 0; k < BK; k += 16) {
            fcoopmatNV<16, gl_ScopeSubgroup, 16, 16> b[2];
            [[unroll]] for (uint j = 0; j < 2; ++j) coopMatLoadNV(b[j], tile_b, k * kRowB + strip + j * 16, kRowB, false);
            [[unroll]] for (uint i = 0; i < 4; ++i) {
                fcoopmatNV<16, gl_ScopeSubgroup, 16, 16> a;
                coopMatLoadNV(a, tile_a, i * 16 * kRowA + k, kRowA, false);
                [[unroll]] for (uint j = 0; j < 2; ++j) sums[i][j] = coopMatMulAddNV(a, b[j], sums[i][j]);
            }
        }
        barrier();
    }
    uint mine = gl_SubgroupID * 256;
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        [[unroll]] for (uint j = 0; j < 2; ++j) {
            coopMatStoreNV(sums[i][j], stage, mine, 16, false);
            barrier();
            [[unroll]] for (uint e = 0; e < 256; e += 32) {
                uint at = e + t % 32;
                uint row = first_row + i * 16 + at / 16;
                uint column = first_column + strip + j * 16 + at % 16;
                if (row < outputs && column < pixels) {
                    uint channel = group * outputs + row;
                    uint place = (image * groups * outputs + channel) * pixels + column;
                    y[base[5] + place] = T(epilogue(CONV_EPILOGUE, stage[mine + at], channel, place));
                }
            }
            barrier();
        }
    }
}
