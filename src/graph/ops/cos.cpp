// Cos: y = cos x, x in radians. ONNX Cos 7.
// Types: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::cos {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) { return std::cos(x); }

}  // namespace

constinit const OpDefinition op_cos = unary<function>(Op::cos, "Cos", "y = cos x, x in radians");

}  // namespace backplane::graph::ops::cos
