// Greater: y = a > b; false where either is NaN. ONNX Greater 13.
// Shapes broadcast as numpy's. Types, equal on both sides: f32, f16, bf16, f64, i32, i64; y is bool. No attributes.
#include "graph/ops/support/binary.hpp"

namespace backplane::graph::ops::greater {

namespace {

double holds(double x, double y) { return x > y ? 1 : 0; }

}  // namespace

constinit const OpDefinition op_greater{backplane::ops::op_greater, reference_binary<holds, nullptr>};

}  // namespace backplane::graph::ops::greater
