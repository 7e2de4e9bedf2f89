// RMSNormalization: y = x / sqrt(mean(x^2) + epsilon) * scale; the mean over the axes from `axis` on.
// ONNX RMSNormalization 23; arXiv:1910.07467. scale has the shape of x from axis on, and x's type.
// Types: f32, f16, bf16, f64. Attributes: axis (builder: the last when not given; negative counts from the end), epsilon
// (1e-5).
#include "graph/ops/support/normalise.hpp"

namespace backplane::graph::ops::rms_norm {

namespace {

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

constinit const OpDefinition op_rms_norm{backplane::ops::op_rms_norm, reference};

}  // namespace backplane::graph::ops::rms_norm
