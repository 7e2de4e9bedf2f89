// Sign: y = -1, 0 or 1; NaN stays NaN. ONNX Sign 13.
// Types: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::sign {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) {
    return x > 0 ? 1 : x < 0 ? -1 : std::isnan(x) ? x : 0;
}

}  // namespace

constinit const OpDefinition op_sign{backplane::ops::op_sign, reference_unary<function>};

}  // namespace backplane::graph::ops::sign
