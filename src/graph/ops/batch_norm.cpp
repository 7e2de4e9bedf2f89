// BatchNorm: y = (x - mean[c]) / sqrt(variance[c] + epsilon) * scale[c] + bias[c] for channel c of x[N, C, ...].
// ONNX BatchNormalization 15, inference. All inputs of one type. Types: f32, f16, bf16, f64. Attributes: epsilon (1e-5).
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/normalise.hpp"

namespace backplane::graph::ops::batch_norm {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const AroundAxis a(x.shape, 1);
    for (int64_t n = 0; n < a.outer; ++n)
        for (int64_t c = 0; c < a.extent; ++c) {
            const auto at = static_cast<size_t>(c);
            const double factor =
                call.input(1).data[at] / std::sqrt(call.input(4).data[at] + call.attributes.number(Attr::epsilon));
            for (int64_t i = 0; i < a.inner; ++i)
                call.output.data[a.at(n, c, i)] =
                    (x.data[a.at(n, c, i)] - call.input(3).data[at]) * factor + call.input(2).data[at];
        }
}

}  // namespace

constinit const OpDefinition op_batch_norm{backplane::ops::op_batch_norm, reference};

}  // namespace backplane::graph::ops::batch_norm
