#include "common.cl"
#define P PARAMETERS_OF(Softmax)
#include "functions.cl"
#include "reduction.cl"
// Softmax: a workgroup a row. Parameters: rows, n, stride of the axis.
ENTRY bp_softmax(PARAMETERS, READ(x, T), WRITE(y, T)) {
    local float partial[LOCAL];
    BEGIN;
    AT(x), AT(y);
    uint row = group_index();
    if (row >= P.rows) return;
    uint n = P.n;
    uint stride = P.stride;
    uint start = row / stride * stride * n + row % stride;
    uint t = get_local_id(0);
    float most = -K_INFINITY;
    FOR_EACH_OF(i, n) {
        float v = LOAD(x, start + i * stride);
        if (v > most || is_nan(v)) most = v;
    }
    partial[t] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = LOCAL / 2; step > 0; step /= 2) {
        if (t < step) {
            float other = partial[t + step];
            if (other > partial[t] || is_nan(other)) partial[t] = other;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    most = partial[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    FOR_EACH_OF(i, n) sum += exp_(LOAD(x, start + i * stride) - most);
    GROUP_SUM(sum, partial);
    float factor = 1.0f / sum;
    FOR_EACH_OF(i, n) {
        uint at = start + i * stride;
        STORE(y, at, exp_(LOAD(x, at) - most) * factor);
    }
}
