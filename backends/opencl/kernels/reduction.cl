// Sums over a workgroup, in an order that depends on its size alone. `partial` has room for LOCAL. The loop is a macro: PoCL goes
// astray at the barriers of a function that is called twice.
#define GROUP_SUM(v, partial)                                        \
    do {                                                             \
        (partial)[get_local_id(0)] = (v);                            \
        barrier(CLK_LOCAL_MEM_FENCE);                                \
        for (uint step = LOCAL / 2; step > 0; step /= 2) {           \
            if (get_local_id(0) < step)                              \
                (partial)[get_local_id(0)] += (partial)[get_local_id(0) + step]; \
            barrier(CLK_LOCAL_MEM_FENCE);                            \
        }                                                            \
        (v) = (partial)[0];                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                \
    } while (0)
