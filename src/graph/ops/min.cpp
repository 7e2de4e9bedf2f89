// Min: y = the smaller of a and b; NaN in either gives NaN. ONNX Min 13, two inputs.
// Shapes broadcast as numpy's. Types, equal on both sides: f32, f16, bf16, f64, i32, i64 (modulo 2^32, 2^64). No attributes.
#include <cmath>

#include "graph/ops/support/binary.hpp"

namespace backplane::graph::ops::min {

namespace {

double on_floats(double x, double y) { return x < y || std::isnan(x) ? x : y; }
uint64_t on_integers(int64_t a, int64_t b) { return static_cast<uint64_t>(a < b ? a : b); }

}  // namespace

constinit const OpDefinition op_min{backplane::ops::op_min, reference_binary<on_floats, on_integers>};

}  // namespace backplane::graph::ops::min
