// Neg: y = -x. ONNX Neg 13. The least integer stays itself, as the hardware does.
// Types: f32, f16, bf16, f64, i32, i64. No attributes.
#include "graph/ops/support/integers.hpp"
#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::neg {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType dtype) {
    if (is_integer(dtype)) return wrapped(0 - static_cast<uint64_t>(to_integer(x)), dtype);
    return -x;
}

}  // namespace

constinit const OpDefinition op_neg{backplane::ops::op_neg, reference_unary<function>};

}  // namespace backplane::graph::ops::neg
