// Xor: y = a or b, not both. ONNX Xor 7.
// Shapes broadcast as numpy's. Types: bool. No attributes.
#include "graph/ops/support/binary.hpp"

namespace backplane::graph::ops::logical_xor {

namespace {

double holds(double x, double y) { return (x != 0) != (y != 0) ? 1 : 0; }

}  // namespace

constinit const OpDefinition op_logical_xor{backplane::ops::op_logical_xor, reference_binary<holds, nullptr>};

}  // namespace backplane::graph::ops::logical_xor
