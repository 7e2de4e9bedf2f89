// What the references of the normalisations share.
#pragma once

#include <cmath>

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

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

// x[N, C, ...] in `groups` runs of channels each, with scale[C] and bias[C] where they are given.
inline void normalise_groups(const ReferenceCall& call, int64_t groups) {
    const ReferenceTensor& x = call.input(0);
    const AroundAxis a(x.shape, 1);
    const auto n = static_cast<size_t>(a.extent / groups * a.inner);
    for (size_t first = 0; first < x.data.size(); first += n) {
        const Moments m = moments_of(x.data.data() + first, n);
        const double factor = 1.0 / std::sqrt(m.variance + call.attributes.number(Attr::epsilon));
        for (size_t i = first; i < first + n; ++i) {
            const size_t channel = i / static_cast<size_t>(a.inner) % static_cast<size_t>(a.extent);
            call.output.data[i] =
                (x.data[i] - m.mean) * factor * parameter(call, 1, channel, 1.0) + parameter(call, 2, channel, 0.0);
        }
    }
}

}  // namespace backplane::graph
