// Gelu: y = x * P(normal <= x). approximate 0: x / 2 * (1 + erf(x / sqrt 2));
// 1: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
// ONNX Gelu 20; arXiv:1606.08415. Types: f32, f16, bf16, f64. Attributes: approximate (0).
#include <cmath>
#include <numbers>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::gelu {

namespace {

double function(double x, const AttributeView& attributes, DType /*dtype*/) {
    if (std::isinf(x)) return x > 0 ? x : -0.0;  // the formulas give 0 * infinity on the left
    // erfc keeps the digits that 1 + erf loses on the left.
    if (attributes.integer(Attr::approximate) == 0) return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
    const double t = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    return x / (1.0 + std::exp(-2.0 * t));  // (1 + tanh t) / 2 as a sigmoid, for the same reason
}

}  // namespace

constinit const OpDefinition op_gelu{backplane::ops::op_gelu, reference_unary<function>};

}  // namespace backplane::graph::ops::gelu
