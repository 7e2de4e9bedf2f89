// IsInf: y = whether x is an infinity of a sign that counts. ONNX IsInf 20.
// Types: f32, f16, bf16, f64; y is bool. Attributes: detect_negative (1), detect_positive (1).
#include <cmath>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::is_inf {

namespace {

double holds(double x, const AttributeView& attributes, DType /*dtype*/) {
    return std::isinf(x) && attributes.integer(x < 0 ? Attr::detect_negative : Attr::detect_positive) != 0 ? 1 : 0;
}

}  // namespace

constinit const OpDefinition op_is_inf{backplane::ops::op_is_inf, reference_unary<holds>};

}  // namespace backplane::graph::ops::is_inf
