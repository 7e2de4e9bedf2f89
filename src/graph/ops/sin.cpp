// Sin: y = sin x, x in radians. ONNX Sin 7.
// Types: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::sin {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) { return std::sin(x); }

}  // namespace

constinit const OpDefinition op_sin{backplane::ops::op_sin, reference_unary<function>};

}  // namespace backplane::graph::ops::sin
