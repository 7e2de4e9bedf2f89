#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
#include "common.h"
PARAMETERS(ConvFilters)
// The filters of a convolution as conv_matrix.comp reads them: tiles of 16 output channels x 16 input channels, the elements that an invocation holds of a
// matrix one behind the other, whatever the driver's order; tiles of output channels fastest, then taps, slices, groups.
// P: outputs, channels, taps, tiles of outputs, slices, tiles in all. A workgroup of one subgroup makes a tile.
READ(1, w, float16_t);
WRITE(2, y, uvec4);
shared float16_t matrix[256];
void main() {
    uint i = GROUP_INDEX;
    uint lane = gl_SubgroupInvocationID;
    if (i >= P.tiles) return;
    uint tile = i % P.down;
    uint tap = i / P.down % P.taps;
    uint slice = i / P.down / P.taps % P.slices;
    uint group = i / P.down / P.taps / P.slices;
    [[unroll]] for (uint e = lane; e < 256; e += 32) {
        uint row = tile * 16 + e / 16;
        uint channel = slice * 16 + e % 16;
        bool there = row < P.outputs && channel < P.channels;
        matrix[e] = float16_t(0.0);
        if (there) matrix[e] = w[base[0] + ((group * P.outputs + row) * P.channels + channel) * P.taps + tap];
    }
    barrier();
    fcoopmatNV<16, gl_ScopeSubgroup, 16, 16> a;
    coopMatLoadNV(a, matrix, 0, 16, false);
    y[base[1] + i * 32 + lane] = uvec4(packFloat2x16(f16vec2(a[0], a[1])), packFloat2x16(f16vec2(a[2], a[3])),
                                       packFloat2x16(f16vec2(a[4], a[5])), packFloat2x16(f16vec2(a[6], a[7])));
}
