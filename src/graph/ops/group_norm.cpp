// GroupNorm: y = (x - mean) / sqrt(variance + epsilon) * scale[c] + bias[c]; mean and variance of x[N, C, ...] over each
// of `groups` runs of
// C / groups channels, and all that follows them. ONNX GroupNormalization 21; arXiv:1803.08494. All inputs of one type.
// Types: f32, f16, bf16, f64. Attributes: groups, epsilon (1e-5).
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/normalise.hpp"

namespace backplane::graph::ops::group_norm {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const AroundAxis a(x.shape, 1);
    const int64_t groups = call.attributes.integer(Attr::groups);
    const auto n = static_cast<size_t>(a.extent / groups * a.inner);
    for (size_t first = 0; first < x.data.size(); first += n) {
        const Moments m = moments_of(x.data.data() + first, n);
        const double factor = 1.0 / std::sqrt(m.variance + call.attributes.number(Attr::epsilon));
        for (size_t i = first; i < first + n; ++i) {
            const size_t channel = i / static_cast<size_t>(a.inner) % static_cast<size_t>(a.extent);
            call.output.data[i] =
                (x.data[i] - m.mean) * factor * parameter(call, 1, channel, 1.0) + parameter(call, 2, channel, 0.0);
        }
    }
}

}  // namespace

constinit const OpDefinition op_group_norm{backplane::ops::op_group_norm, reference};

}  // namespace backplane::graph::ops::group_norm
