// ReduceMean: of nothing NaN. The scale is the mean of magnitudes.
#include "conformance/reduce.hpp"

namespace backplane::graph::conformance::reduce_mean {

namespace {

void cases(CaseList& list) { reduce_cases(list, {true, false}); }

}  // namespace

constinit const OpConformance conformance_reduce_mean{cases, reduced_sum};

}  // namespace backplane::graph::conformance::reduce_mean
