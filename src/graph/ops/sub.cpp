// Sub: y = a - b. ONNX Sub 13.
// Shapes broadcast as numpy's. Types, equal on both sides: f32, f16, bf16, f64, i32, i64 (modulo 2^32, 2^64). No attributes.
#include "graph/ops/support/binary.hpp"

namespace backplane::graph::ops::sub {

namespace {

double on_floats(double x, double y) { return x - y; }
uint64_t on_integers(int64_t a, int64_t b) { return static_cast<uint64_t>(a) - static_cast<uint64_t>(b); }

}  // namespace

constinit const OpDefinition op_sub{backplane::ops::op_sub, reference_binary<on_floats, on_integers>};

}  // namespace backplane::graph::ops::sub
