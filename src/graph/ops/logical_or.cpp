// Or: y = a or b or both. ONNX Or 7.
// Shapes broadcast as numpy's. Types: bool. No attributes.
#include "graph/ops/support/binary.hpp"

namespace backplane::graph::ops::logical_or {

namespace {

double holds(double x, double y) { return x != 0 || y != 0 ? 1 : 0; }

}  // namespace

constinit const OpDefinition op_logical_or{backplane::ops::op_logical_or, reference_binary<holds, nullptr>};

}  // namespace backplane::graph::ops::logical_or
