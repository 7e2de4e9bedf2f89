// GlobalAveragePool: y[n, c] = mean of x[n, c]. ONNX GlobalAveragePool 22.
// Types: f32, f16, bf16, f64. No attributes.
#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::global_average_pool {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const size_t maps = call.output.data.size();
    const size_t n = maps == 0 ? 0 : x.data.size() / maps;
    for (size_t m = 0; m < maps; ++m) {
        double sum = 0;
        for (size_t i = 0; i < n; ++i) sum += x.data[m * n + i];
        call.output.data[m] = sum / static_cast<double>(n);
    }
}

}  // namespace

constinit const OpDefinition op_global_average_pool{backplane::ops::op_global_average_pool, reference};

}  // namespace backplane::graph::ops::global_average_pool
