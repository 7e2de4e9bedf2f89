// Tanh: y = tanh x. ONNX Tanh 13.
// Types: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::tanh {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) { return std::tanh(x); }

}  // namespace

constinit const OpDefinition op_tanh{backplane::ops::op_tanh, reference_unary<function>};

}  // namespace backplane::graph::ops::tanh
