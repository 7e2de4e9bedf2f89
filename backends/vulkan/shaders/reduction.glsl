// Sums over a workgroup, in an order that depends on its size alone.
layout(constant_id = 0) const uint LOCAL = 64;
shared float partial[LOCAL];
float group_sum(float v) {
    uint t = gl_LocalInvocationID.x;
    partial[t] = v;
    barrier();
    for (uint step = LOCAL / 2; step > 0; step /= 2) {
        if (t < step) partial[t] += partial[t + step];
        barrier();
    }
    v = partial[0];
    barrier();
    return v;
}
