// Not: y = not x. ONNX Not 1.
// Types: bool. No attributes.
#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::logical_not {

namespace {

double holds(double x, const AttributeView& /*attributes*/, DType /*dtype*/) { return x == 0 ? 1 : 0; }

}  // namespace

constinit const OpDefinition op_logical_not{backplane::ops::op_logical_not, reference_unary<holds>};

}  // namespace backplane::graph::ops::logical_not
