// RMSNorm: y = x / sqrt(mean(x^2) + epsilon) * scale; the mean over the axes from `axis` on.
// ONNX RMSNormalization 23; arXiv:1910.07467. scale has the shape of x from axis on, and x's type.
// Types: f32, f16, bf16, f64. Attributes: axis (builder: the last when not given; negative counts from the end), epsilon
// (1e-5).
#include "graph/ops/support/normalise.hpp"

namespace backplane::graph::ops::rms_norm {

namespace {

constexpr InputRule kInputs[] = {{"x"}, {"scale", true}};
constexpr AttributeRule kAttributes[] = {derived(Attr::axis), number(Attr::epsilon, 1e-5)};

InferResult infer(const InferCall& call) {
    require_types(call, 0, Types::floats);
    const int64_t axis = call.integer(Attr::axis);
    require_axis(call, axis);
    require_epsilon(call);
    require_parameter(call, 1, Shape(call.shape(0).begin() + axis, call.shape(0).end()));
    return {call.dtype(0), call.shape(0)};
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const auto axis = call.attributes.integer(Attr::axis);
    const auto n = static_cast<size_t>(elements(Shape(x.shape.begin() + axis, x.shape.end())));
    for (size_t row = 0; row < x.data.size(); row += n) {
        double squares = 0;
        for (size_t i = 0; i < n; ++i) squares += x.data[row + i] * x.data[row + i];
        const double factor = 1.0 / std::sqrt(squares / static_cast<double>(n) + call.attributes.number(Attr::epsilon));
        for (size_t i = 0; i < n; ++i) call.output.data[row + i] = x.data[row + i] * factor * parameter(call, 1, i, 1.0);
    }
}

}  // namespace

constinit const OpDefinition op_rms_norm{Op::rms_norm, "RMSNorm",   "rows with a mean square of 1, scaled",
                                         kInputs,      kAttributes, complete_axis<-1>,
                                         infer,        reference};

}  // namespace backplane::graph::ops::rms_norm
