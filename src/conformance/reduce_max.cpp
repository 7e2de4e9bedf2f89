// ReduceMax picks an element: exact. NaN anywhere gives NaN.
#include "conformance/reduce.hpp"

namespace backplane::graph::conformance::reduce_max {

namespace {

void cases(CaseList& list) { reduce_cases(list, {false, true}); }

}  // namespace

constinit const OpConformance conformance_reduce_max{cases, bounds::exact};

}  // namespace backplane::graph::conformance::reduce_max
