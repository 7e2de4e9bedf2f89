// Cubic convolution. R. G. Keys: Cubic convolution interpolation for digital image processing, 1981.
#pragma once

#include <cmath>

namespace backplane::graph {

// Of an element `distance` away, with the coefficient a; 0 from 2 on.
inline double cubic_weight(double distance, double a) {
    const double d = std::fabs(distance);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0.0;
}

}  // namespace backplane::graph
