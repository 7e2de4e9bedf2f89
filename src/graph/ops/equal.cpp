// Equal: y = a is b; NaN is equal to nothing, -0 to 0. ONNX Equal 19.
// Shapes broadcast as numpy's. Types, equal on both sides: f32, f16, bf16, f64, i32, i64, bool; y is bool. No attributes.
#include "graph/ops/support/binary.hpp"

namespace backplane::graph::ops::equal {

namespace {

double holds(double x, double y) { return x == y ? 1 : 0; }

}  // namespace

constinit const OpDefinition op_equal{backplane::ops::op_equal, reference_binary<holds, nullptr>};

}  // namespace backplane::graph::ops::equal
