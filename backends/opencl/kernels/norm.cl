#include "common.cl"
#define P PARAMETERS_OF(Norm)
#include "reduction.cl"
// LayerNorm, RMSNorm, GroupNorm: a workgroup a row of n. Parameters: rows, n, epsilon, flags (1 centred, 2 scale, 4 bias), and which
// scale element i of row r takes: (r % groups) * per_row + i / divisor; groups, per_row, divisor.
ENTRY bp_norm(PARAMETERS, READ(x, T), READ(scale, T), READ(bias, T), WRITE(y, T)) {
    local float partial[LOCAL];
    BEGIN;
    AT(x), AT(scale), AT(bias), AT(y);
    uint row = group_index();
    if (row >= P.rows) return;
    uint n = P.n;
    uint flags = P.flags;
    uint t = get_local_id(0);
    uint start = row * n;
    // The sum is made even where it is 0: PoCL goes astray at a barrier inside a condition.
    uint summed = (flags & NORM_CENTRED) != 0u ? n : 0u;
    float sum = 0.0f;
    FOR_EACH_OF(i, summed) sum += LOAD(x, start + i);
    GROUP_SUM(sum, partial);
    float mean = sum / (float)n;
    float squares = 0.0f;
    FOR_EACH_OF(i, n) {
        float v = LOAD(x, start + i) - mean;
        squares += v * v;
    }
    GROUP_SUM(squares, partial);
    float factor = 1.0f / sqrt(squares / (float)n + P.epsilon);
    uint first = (row % P.groups) * P.per_row;
    FOR_EACH_OF(i, n) {
        float v = (LOAD(x, start + i) - mean) * factor;
        uint c = first + i / P.divisor;
        if ((flags & NORM_SCALE) != 0u) v *= LOAD(scale, c);
        if ((flags & NORM_BIAS) != 0u) v += LOAD(bias, c);
        STORE(y, start + i, v);
    }
}
