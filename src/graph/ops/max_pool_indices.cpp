// MaxPoolIndices: where in x[N, C, ...] the largest element of each window lies, counted over all elements of x in row-major order, or with
// storage_order 1 over the maps in row-major order and within a map with its first axis as the innermost. Of several the first in row-major order, of
// NaN the first; -1 where a window has padding alone. ONNX MaxPool 22, its second output. Types and attributes: those of MaxPool; y is i64.
#include <cmath>

#include "graph/op_definition.hpp"
#include "graph/ops/support/pool.hpp"

namespace backplane::graph::ops::max_pool_indices {

namespace {

// Distances between neighbours along each axis as positions count them.
std::vector<int64_t> distances(const Shape& shape, bool first_is_innermost) {
    std::vector<int64_t> strides = strides_of(shape);
    int64_t step = 1;
    for (size_t d = 2; first_is_innermost && d < shape.size(); ++d) {
        strides[d] = step;
        step *= shape[d];
    }
    return strides;
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const std::vector<int64_t> counted = distances(x.shape, call.attributes.integer(Attr::storage_order) != 0);
    const std::vector<int64_t> strides = strides_of(x.shape);
    for_each_window(call, [&](size_t to, const auto& each_element) {
        double most = 0;
        int64_t place = -1;
        each_element([&](const Index& from) {
            const double v = x.data[offset_of(from, strides)];
            if (place >= 0 && (std::isnan(most) || !(v > most || std::isnan(v)))) return;
            most = v;
            place = static_cast<int64_t>(offset_of(from, counted));
        });
        call.output.data[to] = static_cast<double>(place);
    });
}

}  // namespace

constinit const OpDefinition op_max_pool_indices{backplane::ops::op_max_pool_indices, reference};

}  // namespace backplane::graph::ops::max_pool_indices
