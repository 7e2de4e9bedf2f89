// ReduceLogSumExp: y = m + ln of the sum of e^(x - m) along axes, m the largest x, which is the result where it is infinite; NaN anywhere gives
// NaN; of nothing -infinity. ONNX ReduceLogSumExp 18, axes as an attribute.
// Types: f32, f16, bf16, f64. Attributes: axes (ascending; empty: all), keepdims (1: reduced axes stay as 1).
#include <cmath>
#include <limits>

#include "graph/ops/support/reduce.hpp"

namespace backplane::graph::ops::reduce_log_sum_exp {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const std::vector<int64_t> strides = strides_of_result(call);
    std::vector<double>& y = call.output.data;
    std::vector<double> sums(y.size());
    std::fill(y.begin(), y.end(), -std::numeric_limits<double>::infinity());
    for_each_index(x.shape, [&](const Index& index, size_t i) {
        double& most = y[offset_of(index, strides)];
        if (x.data[i] > most || std::isnan(x.data[i])) most = x.data[i];
    });
    for_each_index(x.shape, [&](const Index& index, size_t i) {
        const size_t at = offset_of(index, strides);
        sums[at] += std::exp(x.data[i] - y[at]);
    });
    for (size_t i = 0; i < y.size(); ++i)
        if (std::isfinite(y[i])) y[i] += std::log(sums[i]);
}

}  // namespace

constinit const OpDefinition op_reduce_log_sum_exp{backplane::ops::op_reduce_log_sum_exp, reference};

}  // namespace backplane::graph::ops::reduce_log_sum_exp
