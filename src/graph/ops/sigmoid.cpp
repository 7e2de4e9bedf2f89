// Sigmoid: y = 1 / (1 + e^-x). ONNX Sigmoid 13.
// Types: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::sigmoid {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) {
    // e of a negative number only: no overflow on either side.
    const double e = std::exp(-std::fabs(x));
    return x >= 0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

}  // namespace

constinit const OpDefinition op_sigmoid{backplane::ops::op_sigmoid, reference_unary<function>};

}  // namespace backplane::graph::ops::sigmoid
