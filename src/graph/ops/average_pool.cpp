// AveragePool: y = the mean of the elements of each window of x[N, C, ...]; of none NaN. ONNX AveragePool 22. Types: f32, f16, bf16, f64.
// Attributes: kernel_shape, strides (1), pads (0: of all axes their beginnings, then their ends), dilations (1),
// ceil_mode (0: a last window that is not whole counts, unless it begins in the padding behind),
// count_include_pad (0; 1: padding counts as zeros).
#include "graph/ops/support/pool.hpp"

namespace backplane::graph::ops::average_pool {

namespace {

double next(double sum, double x) { return sum + x; }
double end(double sum, double count) { return sum / count; }
constexpr Pooling kPooling{0.0, next, end};

void reference(const ReferenceCall& call) {
    reference_pool<kPooling>(call, call.attributes.integer(Attr::count_include_pad) != 0);
}

}  // namespace

constinit const OpDefinition op_average_pool{backplane::ops::op_average_pool, reference};

}  // namespace backplane::graph::ops::average_pool
