// Round: y = the whole number next to x, of two the even one. ONNX Round 22.
// Types: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::round {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) { return std::nearbyint(x); }

}  // namespace

constinit const OpDefinition op_round{backplane::ops::op_round, reference_unary<function>};

}  // namespace backplane::graph::ops::round
