// Pow: y = a to the power b, as C's pow. ONNX Pow 13, both operands of one type. Of integers: modulo 2^32 or 2^64, and for b below 0 what 1 / a^-b
// truncates to, 0 where a is 0. Shapes broadcast as numpy's. Types, equal on both sides: f32, f16, bf16, f64, i32, i64. No attributes.
#include <cmath>

#include "graph/ops/support/binary.hpp"

namespace backplane::graph::ops::pow {

namespace {

double on_floats(double x, double y) { return std::pow(x, y); }
uint64_t on_integers(int64_t a, int64_t b) {
    const auto base = static_cast<uint64_t>(a);
    if (b < 0) return a == 1 || a == -1 ? (b % 2 == 0 ? 1 : base) : 0;
    uint64_t power = 1;
    for (uint64_t square = base; b > 0; b /= 2, square *= square)
        if (b % 2 == 1) power *= square;
    return power;
}

}  // namespace

constinit const OpDefinition op_pow{backplane::ops::op_pow, reference_binary<on_floats, on_integers>};

}  // namespace backplane::graph::ops::pow
