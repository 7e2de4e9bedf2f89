// What the references of the normalisations share.
#pragma once

#include <cmath>

#include "graph/op_definition.hpp"

namespace backplane::graph {

struct Moments {
    double mean = 0, variance = 0;
};

// Of n elements at x, in two passes.
inline Moments moments_of(const double* x, size_t n) {
    Moments m;
    for (size_t i = 0; i < n; ++i) m.mean += x[i];
    m.mean /= static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) m.variance += (x[i] - m.mean) * (x[i] - m.mean);
    m.variance /= static_cast<double>(n);
    return m;
}

inline double parameter(const ReferenceCall& call, size_t i, size_t at, double otherwise) {
    return call.has(i) ? call.input(i).data[at] : otherwise;
}

}  // namespace backplane::graph
