// Div: y = a / b; of integers truncated, by 0 gives 0. ONNX Div 13.
// Shapes broadcast as numpy's. Types, equal on both sides: f32, f16, bf16, f64, i32, i64 (modulo 2^32, 2^64). No attributes.
#include "graph/ops/support/binary.hpp"
#include "graph/ops/support/nearest.hpp"

namespace backplane::graph::ops::div {

namespace {

double on_floats(double x, double y) { return x / y; }
uint64_t on_integers(int64_t a, int64_t b) {
    return b == 0 ? 0 : b == -1 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a / b);
}

}  // namespace

constinit const OpDefinition op_div{backplane::ops::op_div, reference_nearest<reference_binary<on_floats, on_integers>>};

}  // namespace backplane::graph::ops::div
