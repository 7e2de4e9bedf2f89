// Mod: y = what a / b leaves: with the sign of b (fmod 0, of integers only), or of a (fmod 1, as C's fmod). ONNX Mod 13; of integers 0 where b
// is 0. Shapes broadcast as numpy's. Types, equal on both sides: f32, f16, bf16, f64, i32, i64. Attributes: fmod (0).
#include <cmath>

#include "graph/ops/support/binary.hpp"

namespace backplane::graph::ops::mod {

namespace {

double on_floats(double x, double y) { return std::fmod(x, y); }
int64_t left(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
uint64_t with_sign_of_a(int64_t a, int64_t b) { return static_cast<uint64_t>(left(a, b)); }
uint64_t with_sign_of_b(int64_t a, int64_t b) {
    const int64_t rest = left(a, b);
    return static_cast<uint64_t>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

void reference(const ReferenceCall& call) {
    if (call.attributes.integer(Attr::fmod) != 0)
        reference_binary<on_floats, with_sign_of_a>(call);
    else
        reference_binary<on_floats, with_sign_of_b>(call);
}

}  // namespace

constinit const OpDefinition op_mod{backplane::ops::op_mod, reference};

}  // namespace backplane::graph::ops::mod
