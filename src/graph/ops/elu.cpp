// Elu: y = x for x >= 0, alpha * (e^x - 1) below. ONNX Elu 22; arXiv:1511.07289.
// Types: f32, f16, bf16, f64. Attributes: alpha (1).
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::elu {

namespace {

double function(double x, const AttributeView& attributes, DType /*dtype*/) {
    return x < 0 ? attributes.number(Attr::alpha) * std::expm1(x) : x;
}

}  // namespace

constinit const OpDefinition op_elu{backplane::ops::op_elu, reference_unary<function>};

}  // namespace backplane::graph::ops::elu
