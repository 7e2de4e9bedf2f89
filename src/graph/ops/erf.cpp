// Erf: y = 2 / sqrt(pi) * integral of e^(-t^2) for t from 0 to x. ONNX Erf 13.
// Types: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::erf {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) { return std::erf(x); }

}  // namespace

constinit const OpDefinition op_erf{backplane::ops::op_erf, reference_unary<function>};

}  // namespace backplane::graph::ops::erf
