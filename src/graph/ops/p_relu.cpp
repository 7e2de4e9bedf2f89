// PRelu: y = x for x >= 0, slope * x below; NaN stays NaN. ONNX PRelu 16.
// slope broadcasts to x as numpy's. Types, equal on both sides: f32, f16, bf16, f64, i32, i64 (modulo 2^32, 2^64). No attributes.
#include "graph/ops/support/binary.hpp"

namespace backplane::graph::ops::p_relu {

namespace {

double on_floats(double x, double slope) { return x < 0 ? slope * x : x; }
uint64_t on_integers(int64_t x, int64_t slope) {
    return x < 0 ? static_cast<uint64_t>(x) * static_cast<uint64_t>(slope) : static_cast<uint64_t>(x);
}

}  // namespace

constinit const OpDefinition op_p_relu{backplane::ops::op_p_relu, reference_binary<on_floats, on_integers>};

}  // namespace backplane::graph::ops::p_relu
