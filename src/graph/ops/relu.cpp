// Relu: y = max(x, 0); NaN stays NaN. ONNX Relu 13.
// Types: f32, f16, bf16, f64. No attributes.
#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::relu {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) { return x < 0 ? 0.0 : x; }

}  // namespace

constinit const OpDefinition op_relu{backplane::ops::op_relu, reference_unary<function>};

}  // namespace backplane::graph::ops::relu
