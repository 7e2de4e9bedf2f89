// Log: y = ln x; -infinity at 0, NaN below. ONNX Log 13.
// Types: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::log {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) { return std::log(x); }

}  // namespace

constinit const OpDefinition op_log{backplane::ops::op_log, reference_unary<function>};

}  // namespace backplane::graph::ops::log
