// Pow: y = a to the power b, as C's pow. ONNX Pow 13, both operands of one float type.
// Shapes broadcast as numpy's. Types, equal on both sides: f32, f16, bf16, f64. No attributes.
#include <cmath>

#include "graph/ops/support/binary.hpp"

namespace backplane::graph::ops::pow {

namespace {

double on_floats(double x, double y) { return std::pow(x, y); }

}  // namespace

constinit const OpDefinition op_pow{backplane::ops::op_pow, reference_binary<on_floats, nullptr>};

}  // namespace backplane::graph::ops::pow
