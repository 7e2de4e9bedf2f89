// GroupNorm: y = (x - mean) / sqrt(variance + epsilon) * scale[c] + bias[c]; mean and variance of x[N, C, ...] over each
// of `groups` runs of
// C / groups channels, and all that follows them. ONNX GroupNormalization 21; arXiv:1803.08494. All inputs of one type.
// Types: f32, f16, bf16, f64. Attributes: groups, epsilon (1e-5).
#include "graph/ops/support/normalise.hpp"

namespace backplane::graph::ops::group_norm {

namespace {

void reference(const ReferenceCall& call) { normalise_groups(call, call.attributes.integer(Attr::groups)); }

}  // namespace

constinit const OpDefinition op_group_norm{backplane::ops::op_group_norm, reference};

}  // namespace backplane::graph::ops::group_norm
