#include "common.cl"
#define P PARAMETERS_OF(BatchNorm)
// BatchNorm. Parameters: elements, channels, pixels, epsilon.
ENTRY bp_batch_norm(PARAMETERS, READ(x, T), READ(scale, T), READ(bias, T), READ(mean, T), READ(variance, T), WRITE(y, T)) {
    BEGIN;
    AT(x), AT(scale), AT(bias), AT(mean), AT(variance), AT(y);
    uint i = invocation_index();
    if (i >= P.elements) return;
    uint c = i / P.pixels % P.channels;
    float factor = LOAD(scale, c) / sqrt(LOAD(variance, c) + P.epsilon);
    STORE(y, i, (LOAD(x, i) - LOAD(mean, c)) * factor + LOAD(bias, c));
}
