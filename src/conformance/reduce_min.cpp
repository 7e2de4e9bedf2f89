// ReduceMin picks an element: exact. NaN anywhere gives NaN.
#include "conformance/reduce.hpp"

namespace backplane::graph::conformance::reduce_min {

namespace {

void cases(CaseList& list) { reduce_cases(list, {false, true}); }

}  // namespace

constinit const OpConformance conformance_reduce_min{cases, bounds::exact};

}  // namespace backplane::graph::conformance::reduce_min
