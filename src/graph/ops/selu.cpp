// Selu: y = gamma * x for x >= 0, gamma * alpha * (e^x - 1) below. ONNX Selu 22; arXiv:1706.02515.
// Types: f32, f16, bf16, f64. Attributes: alpha (1.6732632), gamma (1.0507010).
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::selu {

namespace {

double function(double x, const AttributeView& attributes, DType /*dtype*/) {
    return attributes.number(Attr::gamma) * (x < 0 ? attributes.number(Attr::alpha) * std::expm1(x) : x);
}

}  // namespace

constinit const OpDefinition op_selu{backplane::ops::op_selu, reference_unary<function>};

}  // namespace backplane::graph::ops::selu
