// LogSoftmax: y = x - m - ln of the sum of e^(x - m) along axis, m the largest x along it. ONNX LogSoftmax 13.
// Types: f32, f16, bf16, f64. Attributes: axis (builder: the last when not given; negative counts from the end).
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::log_softmax {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const AroundAxis a(x.shape, static_cast<size_t>(call.attributes.integer(Attr::axis)));
    for (int64_t o = 0; o < a.outer; ++o)
        for (int64_t i = 0; i < a.inner; ++i) {
            double most = -std::numeric_limits<double>::infinity();
            for (int64_t e = 0; e < a.extent; ++e) most = std::max(most, x.data[a.at(o, e, i)]);
            double sum = 0;
            for (int64_t e = 0; e < a.extent; ++e) sum += std::exp(x.data[a.at(o, e, i)] - most);
            for (int64_t e = 0; e < a.extent; ++e)
                call.output.data[a.at(o, e, i)] = x.data[a.at(o, e, i)] - most - std::log(sum);
        }
}

}  // namespace

constinit const OpDefinition op_log_softmax{backplane::ops::op_log_softmax, reference};

}  // namespace backplane::graph::ops::log_softmax
