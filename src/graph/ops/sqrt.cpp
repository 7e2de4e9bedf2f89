// Sqrt: y = square root of x; NaN below 0. ONNX Sqrt 13.
// Types: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/nearest.hpp"
#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::sqrt {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) { return std::sqrt(x); }

}  // namespace

constinit const OpDefinition op_sqrt{backplane::ops::op_sqrt, reference_nearest<reference_unary<function>>};

}  // namespace backplane::graph::ops::sqrt
