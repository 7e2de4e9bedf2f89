// Sums over a workgroup, in an order that depends on its size alone. `partial` has room for LOCAL.
float group_sum(local float *partial, float v) {
    uint t = get_local_id(0);
    partial[t] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = LOCAL / 2; step > 0; step /= 2) {
        if (t < step) partial[t] += partial[t + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    v = partial[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return v;
}
