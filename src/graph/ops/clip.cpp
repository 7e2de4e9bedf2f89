// Clip: y = min(max(x, least), most); NaN stays NaN; most wins when least > most. ONNX Clip 13, bounds as attributes.
// Types: f32, f16, bf16, f64, i32, i64 (bounds rounded inward). Attributes: least (-infinity), most (infinity).
#include <cmath>
#include <limits>

#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::clip {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr AttributeRule kAttributes[] = {number(Attr::least, -kInfinity), number(Attr::most, kInfinity)};

double function(double x, const AttributeView& attributes, DType dtype) {
    double least = attributes.number(Attr::least);
    double most = attributes.number(Attr::most);
    if (is_integer(dtype)) {
        least = std::ceil(least);
        most = std::floor(most);
    }
    const double raised = x < least ? least : x;
    return raised > most ? most : raised;
}

InferResult infer(const InferCall& call) {
    require(call, !std::isnan(call.number(Attr::least)) && !std::isnan(call.number(Attr::most)),
            "attributes least and most must not be NaN");
    return infer_unary<Types::numbers>(call);
}

}  // namespace

constinit const OpDefinition op_clip = [] {
    OpDefinition d = unary<function, Types::numbers>(Op::clip, "Clip", "y = min(max(x, least), most)", kAttributes);
    d.infer = infer;
    return d;
}();

}  // namespace backplane::graph::ops::clip
