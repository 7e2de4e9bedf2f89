// InstanceNorm: y = (x - mean) / sqrt(variance + epsilon) * scale[c] + bias[c]; mean and variance of each channel of each sample of x[N, C, ...].
// ONNX InstanceNormalization 22. All inputs of one type. Types: f32, f16, bf16, f64. Attributes: epsilon (1e-5).
#include "graph/ops/support/normalise.hpp"

namespace backplane::graph::ops::instance_norm {

namespace {

void reference(const ReferenceCall& call) { normalise_groups(call, call.input(0).shape[1]); }

}  // namespace

constinit const OpDefinition op_instance_norm{backplane::ops::op_instance_norm, reference};

}  // namespace backplane::graph::ops::instance_norm
