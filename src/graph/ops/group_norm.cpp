// GroupNorm: y = (x - mean) / sqrt(variance + epsilon) * scale[c] + bias[c]; mean and variance of x[N, C, ...] over each
// of `groups` runs of
// C / groups channels, and all that follows them. ONNX GroupNormalization 21; arXiv:1803.08494. All inputs of one type.
// Types: f32, f16, bf16, f64. Attributes: groups, epsilon (1e-5).
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/normalise.hpp"

namespace backplane::graph::ops::group_norm {

namespace {

constexpr InputRule kInputs[] = {{"x"}, {"scale", true}, {"bias", true}};
constexpr AttributeRule kAttributes[] = {number(Attr::epsilon, 1e-5), required(Attr::groups)};

InferResult infer(const InferCall& call) {
    require_types(call, 0, Types::floats);
    require_epsilon(call);
    const Shape channels = channels_of(call);
    const int64_t groups = call.integer(Attr::groups);
    require(call, groups >= 1 && channels[0] % groups == 0,
            call.text(0) + " has " + std::to_string(channels[0]) +
                " channels, which do not divide by groups = " + std::to_string(groups));
    require_parameter(call, 1, channels);
    require_parameter(call, 2, channels);
    return {call.dtype(0), call.shape(0)};
}

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

constinit const OpDefinition op_group_norm{
    Op::group_norm, "GroupNorm", "groups of channels with mean 0 and variance 1, scaled and shifted",
    kInputs,        kAttributes, nullptr,
    infer,          reference};

}  // namespace backplane::graph::ops::group_norm
