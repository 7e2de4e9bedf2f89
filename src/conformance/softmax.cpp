// Softmax: e^(x - m) costs units of x - m, the sum its own; all relative to the result, as every term is positive.
#include <cmath>

#include "conformance/softmax_cases.hpp"

namespace backplane::graph::conformance::softmax {

namespace {

std::vector<double> bound(const BoundCall& call) {
    bounds::require_exact_inputs(call);
    const double units = units_of_exponentials(call);
    std::vector<double> result(call.output.data.size());
    for (size_t i = 0; i < result.size(); ++i) result[i] = units * call.unit * std::fabs(call.output.data[i]);
    return result;
}

void cases(CaseList& list) { softmax_cases(list); }

}  // namespace

constinit const OpConformance conformance_softmax{cases, bound};

}  // namespace backplane::graph::conformance::softmax
