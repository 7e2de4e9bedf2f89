#include "common.cl"
#define P PARAMETERS_OF(Peak)
// What the device can do at most. MODE 0: each invocation does P.rounds rounds of 64 multiply-adds in registers. MODE 1: reads P.rounds
// elements of four words, in strides of the whole dispatch.
#define MODE C1
ENTRY bp_peak(PARAMETERS, READ(x, uint4), WRITE(y, uint)) {
    BEGIN;
    AT(x), AT(y);
    uint i = invocation_index();
#if MODE == 0
    float a = (float)i * 1e-9f + 0.999f;
    float4 s0 = (float4)(a), s1 = (float4)(1.0f + a), s2 = (float4)(2.0f + a), s3 = (float4)(3.0f + a);
    for (uint round = 0; round < P.rounds; ++round) {
        UNROLL for (uint step = 0; step < 4; ++step) {
            s0 = s0 * a + (float4)(0.001f);
            s1 = s1 * a + (float4)(0.001f);
            s2 = s2 * a + (float4)(0.001f);
            s3 = s3 * a + (float4)(0.001f);
        }
    }
    float4 all = s0 + s1 + s2 + s3;
    if (all.x + all.y + all.z + all.w == 0.5f) y[0] = i;
#else
    uint all = 0;
    uint step = get_num_groups(0) * get_num_groups(1) * LOCAL;
    for (uint at = i; at < P.rounds; at += step) {
        uint4 v = x[at];
        all ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    if (all == 0x12345678u) y[0] = all;
#endif
}
