// HardSwish: y = x * min(max(x / 6 + 1 / 2, 0), 1). ONNX HardSwish 22; arXiv:1905.02244.
// Types: f32, f16, bf16, f64. No attributes.
#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::hard_swish {

namespace {

double function(double x, const AttributeView& /*attributes*/, DType /*dtype*/) {
    if (x <= -3) return -0.0;  // the formula gives 0 * infinity on the left
    return x >= 3 ? x : x * (x + 3) / 6;
}

}  // namespace

constinit const OpDefinition op_hard_swish{backplane::ops::op_hard_swish, reference_unary<function>};

}  // namespace backplane::graph::ops::hard_swish
