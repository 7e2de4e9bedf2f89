// Floor: y = the largest whole number that is at most x. ONNX Floor 13.
// Types: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::floor {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) { return std::floor(x); }

}  // namespace

constinit const OpDefinition op_floor{backplane::ops::op_floor, reference_unary<function>};

}  // namespace backplane::graph::ops::floor
