// Clip: y = min(max(x, least), most); NaN stays NaN; most wins when least > most. ONNX Clip 13, bounds as attributes.
// Types: f32, f16, bf16, f64, i32, i64 (bounds rounded inward). Attributes: least (-infinity), most (infinity).
#include <cmath>
#include <limits>

#include "graph/ops/support/integers.hpp"
#include "graph/ops/support/unary.hpp"

namespace backplane::graph::ops::clip {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

}  // namespace

constinit const OpDefinition op_clip{backplane::ops::op_clip, reference_unary<function>};

}  // namespace backplane::graph::ops::clip
