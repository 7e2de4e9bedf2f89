// HardSigmoid: y = min(max(alpha * x + beta, 0), 1). ONNX HardSigmoid 22.
// Types: f32, f16, bf16, f64. Attributes: alpha (0.2), beta (0.5).
#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::hard_sigmoid {

namespace {

double function(double x, const AttributeView& attributes, DType /*dtype*/) {
    const double y = attributes.number(Attr::alpha) * x + attributes.number(Attr::beta);
    return y < 0 ? 0 : y > 1 ? 1 : y;
}

}  // namespace

constinit const OpDefinition op_hard_sigmoid{backplane::ops::op_hard_sigmoid, reference_unary<function>};

}  // namespace backplane::graph::ops::hard_sigmoid
