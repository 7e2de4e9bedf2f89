// LayerNorm: y = (x - mean) / sqrt(variance + epsilon) * scale + bias; mean and variance over the axes from `axis` on.
// ONNX LayerNormalization 17, first output; arXiv:1607.06450. scale and bias have the shape of x from axis on, and x's type.
// Types: f32, f16, bf16, f64. Attributes: axis (builder: the last when not given; negative counts from the end), epsilon
// (1e-5).
#include "graph/ops/support/normalise.hpp"

namespace backplane::graph::ops::layer_norm {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const auto axis = call.attributes.integer(Attr::axis);
    const auto n = static_cast<size_t>(elements(Shape(x.shape.begin() + axis, x.shape.end())));
    for (size_t row = 0; row < x.data.size(); row += n) {
        const Moments m = moments_of(x.data.data() + row, n);
        const double factor = 1.0 / std::sqrt(m.variance + call.attributes.number(Attr::epsilon));
        for (size_t i = 0; i < n; ++i)
            call.output.data[row + i] =
                (x.data[row + i] - m.mean) * factor * parameter(call, 1, i, 1.0) + parameter(call, 2, i, 0.0);
    }
}

}  // namespace

constinit const OpDefinition op_layer_norm{backplane::ops::op_layer_norm, reference};

}  // namespace backplane::graph::ops::layer_norm
