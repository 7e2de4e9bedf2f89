// IsNaN: y = whether x is NaN. ONNX IsNaN 20.
// Types: f32, f16, bf16, f64; y is bool. No attributes.
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::is_nan {

namespace {

double holds(double x, const AttributeView& /*attributes*/, DType /*dtype*/) { return std::isnan(x) ? 1 : 0; }

}  // namespace

constinit const OpDefinition op_is_nan{backplane::ops::op_is_nan, reference_unary<holds>};

}  // namespace backplane::graph::ops::is_nan
