// Cos: y = cos x, x in radians. ONNX Cos 7.
// Types: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::cos {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) { return std::cos(x); }

}  // namespace

constinit const OpDefinition op_cos{backplane::ops::op_cos, reference_unary<function>};

}  // namespace backplane::graph::ops::cos
