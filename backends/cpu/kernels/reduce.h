// Sums and extremes over rows and down columns. Sums run in short float32 blocks whose results are added in double, so the error
// does not grow with the length.
#pragma once

#include <stdint.h>

namespace backplane::cpu {

enum ReduceKind {
    kReduceSum = 0,
    kReduceMost = 1,
    kReduceLeast = 2,
    kReduceProduct = 3,
    kReduceSizes = 4,    // sum of |x|
    kReduceSquares = 5,  // sum of x^2
    kReduceKinds = 6
};

struct ReduceKernels {
    // Of n >= 1 floats. NaN anywhere gives NaN.
    double (*row[kReduceKinds])(const float* x, int64_t n);
    // Sum of (x[i] - mean)^2.
    double (*row_squares)(const float* x, int64_t n, float mean);
    // Column by column over rows `stride` floats apart: adds to `into`, multiplies it, or keeps the greater or smaller of the two.
    void (*columns[kReduceKinds])(const float* x, int64_t stride, int64_t rows, int64_t columns, double* into);
    // Adds (x - mean[column])^2.
    void (*column_squares)(const float* x, int64_t stride, int64_t rows, int64_t columns, const float* mean, double* into);
};

}  // namespace backplane::cpu
