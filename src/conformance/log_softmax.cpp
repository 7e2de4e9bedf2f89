// LogSoftmax: what the sum of e^(x - m) loses of itself is an absolute error of its logarithm; two differences are rounded.
#include <cmath>

#include "conformance/softmax_cases.hpp"

namespace backplane::graph::conformance::log_softmax {

namespace {

std::vector<double> bound(const BoundCall& call) {
    bounds::require_exact_inputs(call);
    const double units = units_of_exponentials(call) + 4 * bounds::most_of(*call.inputs[0]);
    std::vector<double> result(call.output.data.size());
    for (size_t i = 0; i < result.size(); ++i) result[i] = (units + 4 * std::fabs(call.output.data[i])) * call.unit;
    return result;
}

void cases(CaseList& list) { softmax_cases(list); }

}  // namespace

constinit const OpConformance conformance_log_softmax{cases, bound};

}  // namespace backplane::graph::conformance::log_softmax
