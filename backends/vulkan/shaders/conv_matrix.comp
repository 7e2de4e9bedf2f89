#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
#include "common.h"
PARAMETERS(Conv)
#include "epilogue.glsl"
// Convolution of 1x1, 3x3 and 5x5 with steps of 1 on the matrix units: operands in f16, sums in float32. A subgroup of 32 (a warp) makes
// 16 * TILES output channels of ROWS_OF_WARP x COLUMNS_OF_WARP pixels; a workgroup has DOWN of them over output channels, ACROSS over columns,
// the rest over rows. A slice of channels of the input under it stands in shared memory for all taps, channels last, so that a tap is an
// offset; while it is multiplied the next is on its way. The filters come as conv_matrix_filters.comp lays them out, a matrix at a load.
// Parameters as conv.kernel, with blocks of output channels in place of the tiles down. A map of 1x1 filters is one row.
//
// Which sum is meant is known at each use when the kernel is built: an array of matrices that is indexed at run time goes to memory (H200:
// 35 TFLOP/s instead of 150 and more).
layout(constant_id = 3) const uint TILES = 4;
layout(constant_id = 4) const uint DOWN = 1;
layout(constant_id = 5) const uint ROWS_OF_WARP = 4;
layout(constant_id = 6) const uint COLUMNS_OF_WARP = 16;
layout(constant_id = 7) const uint ACROSS = 2;
layout(constant_id = 8) const uint KERNEL = 3;
layout(constant_id = 9) const uint DEPTH = 1;
READ(1, x, uint16_t);
layout(set = 0, binding = 1, std430) readonly buffer Twos { uint x2[]; };
READ(2, w, uvec4);
layout(set = 0, binding = 4, std430) readonly buffer Residual0 { uvec2 residual0_4[]; };
layout(set = 0, binding = 5, std430) readonly buffer Residual1 { uvec2 residual1_4[]; };
WRITE(6, y, float16_t);
layout(set = 0, binding = 6, std430) writeonly buffer Fours { uvec2 y4[]; };
const uint TAPS = KERNEL * KERNEL;
const uint WARPS = LOCAL / 32;
const uint UP = WARPS / DOWN / ACROSS;
const uint ROWS = UP * ROWS_OF_WARP;
const uint COLUMNS = ACROSS * COLUMNS_OF_WARP;
const uint OUTPUTS = 16 * TILES * DOWN;
const uint HEIGHT = ROWS + KERNEL - 1;
const uint PAIRS = KERNEL == 1 ? COLUMNS / 2 : (COLUMNS + KERNEL - 1) / 2 + 1;
const uint OCTETS = 2 * DEPTH;
const uint PIXEL = OCTETS + 1;  // units of 16 bytes
const uint ROW_UNITS = PAIRS * 2 * PIXEL;
const uint TASKS = OCTETS * HEIGHT * PAIRS;
const uint ROUNDS = (TASKS + LOCAL - 1) / LOCAL;
const uint GROUPS = COLUMNS_OF_WARP / 16;
const uint LINES = ROWS_OF_WARP + KERNEL - 1;
const uint SUMS = TILES * ROWS_OF_WARP * GROUPS;
const uint STAGE = 5;  // fours of a row of a staged tile
const uint PATCH = 2 * HEIGHT * ROW_UNITS;
const uint STAGED = WARPS * 2 * 16 * STAGE;
shared uvec4 patch_of[PATCH > STAGED ? PATCH : STAGED];
#define stage patch_of  // once the last slice is multiplied

#define A_MATRIX fcoopmatNV<16, gl_ScopeSubgroup, 16, 16>
#define C_MATRIX fcoopmatNV<32, gl_ScopeSubgroup, 16, 16>

vec4 unpack(uvec2 v) { return vec4(unpackHalf2x16(v.x), unpackHalf2x16(v.y)); }

// Is this one of the epilogue's steps?
bool has_step(uint kind) {
    bool found = false;
    [[unroll]] for (uint k = 0; k < EPILOGUE_STEPS; ++k) found = found || (EPILOGUE_KINDS >> (4 * k) & 15u) - 1u == kind;
    return found;
}

// Four elements of what is added, of which the first `count` are there.
vec4 residual_4(uint which, uint place, int count) {
    uint first = base[3 + which] + place;
    bool at_once = count >= 4 && first % 4 == 0;
    uint from = at_once ? first / 4 : 0;
    vec4 v = unpack(which == 0 ? residual0_4[from] : residual1_4[from]);
    if (!at_once) {
        [[unroll]] for (uint i = 0; i < 4; ++i)
            if (count > int(i)) v[i] = which == 0 ? float(residual0[first + i]) : float(residual1[first + i]);
    }
    return v;
}

// Four pixels of a channel, of which the first `count` are there, with what the epilogue adds to them first.
void finish(vec4 v, float own_bias, vec4 added, vec4 added_too, uint place, int count) {
    if (count <= 0) return;
    [[unroll]] for (uint k = 0; k < EPILOGUE_STEPS; ++k) {
        uint kind = (EPILOGUE_KINDS >> (4 * k) & 15u) - 1u;
        float a = WORD_FLOAT(CONV_EPILOGUE + 2 + 3 * k);
        float b = WORD_FLOAT(CONV_EPILOGUE + 3 + 3 * k);
        bvec4 nan = greaterThan(floatBitsToUint(v) & 0x7fffffffu, uvec4(0x7f800000u));
        if (kind == EPILOGUE_BIAS) v += own_bias;
        else if (kind == EPILOGUE_RELU) v = mix(mix(v, vec4(0.0), lessThan(v, vec4(0.0))), v, nan);
        else if (kind == EPILOGUE_LEAKY) v = mix(v, a * v, lessThan(v, vec4(0.0)));
        else if (kind == EPILOGUE_CLIP) {
            vec4 raised = mix(v, vec4(a), lessThan(v, vec4(a)));
            v = mix(mix(raised, vec4(b), greaterThan(raised, vec4(b))), v, nan);
        }
        else if (kind == EPILOGUE_SCALE) v *= a;
        else if (kind == EPILOGUE_ADD_FIRST) v += added;
        else if (kind == EPILOGUE_ADD_SECOND) v += added_too;
    }
    uint to = base[5] + place;
    f16vec4 rounded = f16vec4(v);
    if (count >= 4 && to % 4 == 0) {
        y4[to / 4] = uvec2(packFloat2x16(rounded.xy), packFloat2x16(rounded.zw));
        return;
    }
    [[unroll]] for (uint i = 0; i < 4; ++i)
        if (count > int(i)) y[to + i] = rounded[i];
}

// Eight channels of two pixels that follow each other, channels together.
void fetch(uint first, int left, uint there, bool even, uint plane, out uvec4 first_pixel, out uvec4 second_pixel) {
    uint v[8];
    bool low = (there & 1) != 0;
    bool high = (there & 2) != 0;
    if (even) {
        [[unroll]] for (uint c = 0; c < 8; ++c) v[c] = x2[low && int(c) < left ? (first + c * plane) >> 1 : 0];
        [[unroll]] for (uint c = 0; c < 8; ++c) v[c] = low && int(c) < left ? v[c] : 0;
    } else {
        [[unroll]] for (uint c = 0; c < 8; ++c) {
            uint a = uint(x[low && int(c) < left ? first + c * plane : 0]);
            uint b = uint(x[high && int(c) < left ? first + c * plane + 1 : 0]);
            v[c] = (low && int(c) < left ? a : 0) | (high && int(c) < left ? b << 16 : 0);
        }
    }
    first_pixel = uvec4(v[0] & 0xffffu | v[1] << 16, v[2] & 0xffffu | v[3] << 16, v[4] & 0xffffu | v[5] << 16, v[6] & 0xffffu | v[7] << 16);
    second_pixel = uvec4(v[0] >> 16 | v[1] & 0xffff0000u, v[2] >> 16 | v[3] & 0xffff0000u, v[4] >> 16 | v[5] & 0xffff0000u, v[6] >> 16 | v[7] & 0xffff0000u);
}

void main() {
    uint outputs = P.outputs;
    uint channels = P.channels;
    uint groups = P.groups;
    int height = int(P.height);
    int width = int(P.width);
    uint out_height = P.out_height;
    uint out_width = P.out_width;
    uint across = (out_width + COLUMNS - 1) / COLUMNS;
    uint blocks = P.blocks;
    uint tile = GROUP_INDEX / blocks;
    uint block = GROUP_INDEX % blocks;
    uint tile_y = tile / across * ROWS;
    uint tile_x = tile % across * COLUMNS;
    if (tile_y >= out_height) return;
    uint image = gl_WorkGroupID.z / groups;
    uint group = gl_WorkGroupID.z % groups;
    uint t = gl_LocalInvocationID.x;
    uint lane = gl_SubgroupInvocationID;
    uint warp = gl_SubgroupID;
    uint own_tile = warp % DOWN * TILES;
    uint own_x = warp / DOWN % ACROSS * COLUMNS_OF_WARP;
    uint own_y = warp / DOWN / ACROSS * ROWS_OF_WARP;
    uint plane = uint(height * width);
    uint map = base[0] + (image * groups + group) * channels * plane;
    uint slices = (channels + 16 * DEPTH - 1) / (16 * DEPTH);
    uint tiles = blocks * TILES * DOWN;
    uint filters = base[1] + (group * slices * DEPTH * TAPS * tiles + block * TILES * DOWN + own_tile) * 32;
    int first_column = int(tile_x) - int(P.pad_left);
    uint shift = uint(first_column & 1);
    bool even = (uint(width) & 1) == 0 && (map & 1) == 0;
    uint at[4];
    uint there[4];
    uint into[4];
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        uint task = i * LOCAL + t;
        uint pair = task % PAIRS;
        uint line = task / PAIRS % HEIGHT;
        uint octet = task / (PAIRS * HEIGHT);
        int row = int(tile_y) - int(P.pad_top) + int(line);
        int column = first_column - int(shift) + 2 * int(pair);
        bool inside = task < TASKS && row >= 0 && row < height;
        there[i] = (inside && column >= 0 && column < width ? 1 : 0) | (inside && column + 1 >= 0 && column + 1 < width ? 2 : 0);
        at[i] = map + octet * 8 * plane + uint(row * width + column);
        into[i] = line * ROW_UNITS + 2 * pair * PIXEL + octet;
    }
    C_MATRIX sums[SUMS];
    [[unroll]] for (uint m = 0; m < SUMS; ++m) sums[m] = C_MATRIX(0.0);
    uvec4 next[8];
    for (uint slice = 0;; ++slice) {
        if (slice < slices) {
            uint skip = slice * 16 * DEPTH;
#define FETCH(i) \
            if (i < ROUNDS) \
                fetch(at[i] + skip * plane, int(channels) - int(skip + (i * LOCAL + t) / (PAIRS * HEIGHT) * 8), there[i], even, plane, next[2 * i], next[2 * i + 1])
            FETCH(0);
            FETCH(1);
            FETCH(2);
            FETCH(3);
        }
        if (slice > 0) {
            uint from = (slice - 1) % 2 * (HEIGHT * ROW_UNITS) + own_y * ROW_UNITS + (own_x + shift) * PIXEL;
            [[unroll]] for (uint d = 0; d < DEPTH; ++d) {
                [[unroll]] for (uint s = 0; s < KERNEL; ++s) {
                    A_MATRIX b[LINES * GROUPS];
                    [[unroll]] for (uint r = 0; r < LINES; ++r) {
                        [[unroll]] for (uint j = 0; j < GROUPS; ++j) {
                            coopMatLoadNV(b[r * GROUPS + j], patch_of, from + r * ROW_UNITS + (s + j * 16) * PIXEL + 2 * d, PIXEL, true);
                        }
                    }
                    [[unroll]] for (uint r = 0; r < KERNEL; ++r) {
                        [[unroll]] for (uint m = 0; m < TILES; ++m) {
                            A_MATRIX a;
                            uint place = filters + ((((slice - 1) * DEPTH + d) * TAPS + r * KERNEL + s) * tiles + m) * 32;
                            uvec4 v = w[place + lane];
                            f16vec2 v0 = unpackFloat2x16(v.x);
                            f16vec2 v1 = unpackFloat2x16(v.y);
                            f16vec2 v2 = unpackFloat2x16(v.z);
                            f16vec2 v3 = unpackFloat2x16(v.w);
                            a[0] = v0.x;
                            a[1] = v0.y;
                            a[2] = v1.x;
                            a[3] = v1.y;
                            a[4] = v2.x;
                            a[5] = v2.y;
                            a[6] = v3.x;
                            a[7] = v3.y;
                            [[unroll]] for (uint p = 0; p < ROWS_OF_WARP; ++p) {
                                [[unroll]] for (uint j = 0; j < GROUPS; ++j) {
                                    uint n = (m * ROWS_OF_WARP + p) * GROUPS + j;
                                    sums[n] = coopMatMulAddNV(a, b[(p + r) * GROUPS + j], sums[n]);
                                }
                            }
                        }
                    }
                }
            }
        }
        if (slice >= slices) break;
        uint to = slice % 2 * (HEIGHT * ROW_UNITS);
#define KEEP(i) \
        if (i < ROUNDS && i * LOCAL + t < TASKS) { \
            patch_of[to + into[i]] = next[2 * i]; \
            patch_of[to + into[i] + PIXEL] = next[2 * i + 1]; \
        }
        KEEP(0)
        KEEP(1)
        KEEP(2)
        KEEP(3)
        barrier();
    }
    barrier();
    // Two matrices at a time.
    uint mine = warp * (2 * 16 * STAGE);
    for (uint n = 0; n < SUMS; n += 2) {
        uint place[4];
        int count[4];
        float own_bias[4];
        vec4 added[4];
        vec4 added_too[4];
        [[unroll]] for (uint h = 0; h < 4; ++h) {
            uint at = n + h / 2;
            uint own = block * OUTPUTS + (own_tile + at / (ROWS_OF_WARP * GROUPS)) * 16 + h % 2 * 8 + lane / 4;
            uint channel = group * outputs + min(own, outputs - 1);
            uint row = tile_y + own_y + at / GROUPS % ROWS_OF_WARP;
            uint column = tile_x + own_x + at % GROUPS * 16 + lane % 4 * 4;
            place[h] = ((image * groups * outputs + channel) * out_height + row) * out_width + column;
            count[h] = row < out_height && own < outputs ? int(out_width) - int(column) : 0;
            own_bias[h] = has_step(0u) ? float(bias[base[2] + channel]) : 0.0;
            added[h] = has_step(5u) ? residual_4(0, place[h], count[h]) : vec4(0.0);
            added_too[h] = has_step(6u) ? residual_4(1, place[h], count[h]) : vec4(0.0);
        }
        [[unroll]] for (uint k = 0; k < SUMS; k += 2)
            if (n == k) {
                coopMatStoreNV(sums[k], stage, mine, STAGE, false);
                coopMatStoreNV(sums[k + 1], stage, mine + 16 * STAGE, STAGE, false);
            }
        subgroupBarrier();
        [[unroll]] for (uint h = 0; h < 4; ++h) {
            vec4 v = uintBitsToFloat(stage[mine + (h * 8 + lane / 4) * STAGE + lane % 4]);
            finish(v, own_bias[h], added[h], added_too[h], place[h], count[h]);
        }
        subgroupBarrier();
    }
}
