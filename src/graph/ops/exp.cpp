// Exp: y = e^x. ONNX Exp 13.
// Types: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::exp {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) { return std::exp(x); }

}  // namespace

constinit const OpDefinition op_exp{backplane::ops::op_exp, reference_unary<function>};

}  // namespace backplane::graph::ops::exp
