// Abs: y = |x|. ONNX Abs 13. The least integer stays itself, as the hardware does.
// Types: f32, f16, bf16, f64, i32, i64. No attributes.
#include <cmath>

#include "graph/ops/support/integers.hpp"
#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::abs {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType dtype) {
    if (is_integer(dtype)) return x < 0 ? wrapped(0 - static_cast<uint64_t>(to_integer(x)), dtype) : x;
    return std::fabs(x);
}

}  // namespace

constinit const OpDefinition op_abs{backplane::ops::op_abs, reference_unary<function>};

}  // namespace backplane::graph::ops::abs
