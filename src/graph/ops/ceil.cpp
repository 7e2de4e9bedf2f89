// Ceil: y = the smallest whole number that is at least x. ONNX Ceil 13.
// Types: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::ceil {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) { return std::ceil(x); }

}  // namespace

constinit const OpDefinition op_ceil{backplane::ops::op_ceil, reference_unary<function>};

}  // namespace backplane::graph::ops::ceil
