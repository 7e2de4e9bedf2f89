// What the normalisations share.
#pragma once

#include <cmath>

#include "graph/ops/support/checks.hpp"

namespace backplane::graph {

inline void require_epsilon(const InferCall& call) {
    const double epsilon = call.number(Attr::epsilon);
    require(call, std::isfinite(epsilon) && epsilon >= 0, "attribute epsilon must be 0 or more");
}

// Input i, when given, has x's dtype and the shape `wanted`.
inline void require_parameter(const InferCall& call, size_t i, const Shape& wanted) {
    if (!call.has(i)) return;
    require_same_dtype(call, 0, i);
    require(call, call.shape(i) == wanted, call.text(i) + " must be " + to_string(wanted) + " for " + call.text(0));
}

// x[N, C, ...]: the channels of a feature map.
inline Shape channels_of(const InferCall& call) {
    require(call, call.rank(0) >= 2, call.text(0) + " must have a batch and a channel axis");
    return {call.shape(0)[1]};
}

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
