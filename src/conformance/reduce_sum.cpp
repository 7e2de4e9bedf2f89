// ReduceSum: of nothing 0. The scale is the sum of magnitudes.
#include "conformance/reduce.hpp"

namespace backplane::graph::conformance::reduce_sum {

namespace {

void cases(CaseList& list) { reduce_cases(list, {true, false}); }

}  // namespace

constinit const OpConformance conformance_reduce_sum{cases, reduced_sum};

}  // namespace backplane::graph::conformance::reduce_sum
