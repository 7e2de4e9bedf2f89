// MaxPool: y = the largest element of each window of x[N, C, ...]; padding is no element; NaN in a window gives NaN. ONNX MaxPool 22 without its
// second output. Types: f32, f16, bf16, f64. Attributes: kernel_shape, strides (1), pads (0: of all axes their beginnings, then their ends), dilations (1),
// ceil_mode (0: a last window that is not whole counts, unless it begins in the padding behind).
#include <cmath>
#include <limits>

#include "graph/ops/support/pool.hpp"

namespace backplane::graph::ops::max_pool {

namespace {

double next(double most, double x) { return x > most || std::isnan(x) ? x : most; }
double end(double most, double /*count*/) { return most; }
constexpr Pooling kPooling{-std::numeric_limits<double>::infinity(), next, end};

void reference(const ReferenceCall& call) { reference_pool<kPooling>(call, false); }

}  // namespace

constinit const OpDefinition op_max_pool{backplane::ops::op_max_pool, reference};

}  // namespace backplane::graph::ops::max_pool
