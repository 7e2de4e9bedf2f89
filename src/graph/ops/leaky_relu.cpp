// LeakyRelu: y = x for x >= 0, alpha * x below; NaN stays NaN. ONNX LeakyRelu 16.
// Types: f32, f16, bf16, f64. Attributes: alpha (0.01).
#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::leaky_relu {

namespace {

double function(double x, const AttributeView& attributes, DType /*dtype*/) {
    return x < 0 ? attributes.number(Attr::alpha) * x : x;
}

}  // namespace

constinit const OpDefinition op_leaky_relu{backplane::ops::op_leaky_relu, reference_unary<function>};

}  // namespace backplane::graph::ops::leaky_relu
