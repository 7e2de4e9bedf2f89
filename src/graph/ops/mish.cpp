// Mish: y = x * tanh(ln(1 + e^x)). ONNX Mish 22; arXiv:1908.08681.
// Types: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::mish {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) {
    if (std::isinf(x)) return x > 0 ? x : -0.0;  // the formula gives 0 * infinity on the left
    return x * std::tanh(std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))));
}

}  // namespace

constinit const OpDefinition op_mish{backplane::ops::op_mish, reference_unary<function>};

}  // namespace backplane::graph::ops::mish
