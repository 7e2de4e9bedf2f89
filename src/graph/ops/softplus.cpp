// Softplus: y = ln(1 + e^x). ONNX Softplus 1.
// Types: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::softplus {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) {
    if (std::isnan(x)) return x;
    return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}

}  // namespace

constinit const OpDefinition op_softplus{backplane::ops::op_softplus, reference_unary<function>};

}  // namespace backplane::graph::ops::softplus
