#version 450
#include "common.glsl"
PARAMETERS(Peak)
// What the device can do at most. MODE 0: each invocation does P.rounds rounds of 64 multiply-adds in registers. MODE 1: reads P.rounds
// elements of four words, in strides of the whole dispatch.
layout(constant_id = 1) const uint MODE = 0;
READ(1, x, uvec4);
WRITE(2, y, uint);
void main() {
    uint i = invocation_index();
    if (MODE == 0) {
        vec4 sums[4];
        float a = float(i) * 1e-9 + 0.999;
        [[unroll]] for (uint k = 0; k < 4; ++k) sums[k] = vec4(float(k) + a);
        for (uint round = 0; round < P.rounds; ++round) {
            [[unroll]] for (uint step = 0; step < 4; ++step) {
                [[unroll]] for (uint k = 0; k < 4; ++k) sums[k] = sums[k] * a + vec4(0.001);
            }
        }
        vec4 all = sums[0] + sums[1] + sums[2] + sums[3];
        if (all.x + all.y + all.z + all.w == 0.5) y[base[1]] = i;
    } else {
        uint all = 0;
        uint step = gl_NumWorkGroups.x * gl_NumWorkGroups.y * gl_WorkGroupSize.x;
        for (uint at = i; at < P.rounds; at += step) {
            uvec4 v = x[base[0] + at];
            all ^= v.x ^ v.y ^ v.z ^ v.w;
        }
        if (all == 0x12345678u) y[base[1]] = all;
    }
}
