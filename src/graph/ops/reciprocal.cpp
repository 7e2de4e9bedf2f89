// Reciprocal: y = 1 / x; infinity with the sign of x at 0. ONNX Reciprocal 13.
// Types: f32, f16, bf16, f64. No attributes.
#include "graph/ops/support/nearest.hpp"
#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::reciprocal {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) { return 1.0 / x; }

}  // namespace

constinit const OpDefinition op_reciprocal{backplane::ops::op_reciprocal, reference_nearest<reference_unary<function>>};

}  // namespace backplane::graph::ops::reciprocal
