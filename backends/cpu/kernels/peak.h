// Limits of the machine, for benchmarks.
#pragma once

#include <stdint.h>

namespace backplane::cpu {

struct PeakKernels {
    // `rounds` rounds of independent multiply-adds on registers; returns something that depends on them all. *flops is added to.
    float (*multiply_add)(int64_t rounds, double* flops);
    float (*sum)(const float* from, int64_t n);  // reads all; n a multiple of 256
};

}  // namespace backplane::cpu
