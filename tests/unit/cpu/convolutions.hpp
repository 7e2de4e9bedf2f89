// Convolutions, and what they should be.
#pragma once

#include <vector>

#include "harness.hpp"

namespace harness {

struct Case {
    int64_t n, c, h, w, o, kh, kw, stride, pad, dilation, group;
};

// In float64, of an output of oh x ow.
std::vector<double> naive(const Case& k, const Floats& x, const Floats& weight, const Floats& bias, int64_t oh, int64_t ow);

}  // namespace harness
