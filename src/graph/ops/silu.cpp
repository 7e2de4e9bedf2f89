// Silu: y = x / (1 + e^-x). Not in ONNX 13; x * Sigmoid(x), also called Swish (arXiv:1702.03118). -infinity gives 0.
// Types: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::silu {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) {
    const double e = std::exp(-std::fabs(x));
    if (x >= 0) return x / (1.0 + e);
    return e == 0 ? -0.0 : x * e / (1.0 + e);  // where e is 0, x may be infinite
}

}  // namespace

constinit const OpDefinition op_silu{backplane::ops::op_silu, reference_unary<function>};

}  // namespace backplane::graph::ops::silu
