// ReduceL2: of nothing 0. The root halves what the sum of squares has lost.
#include "conformance/reduce.hpp"

namespace backplane::graph::conformance::reduce_l2 {

namespace {

void cases(CaseList& list) { reduce_cases(list, {.empties = true, .special = true, .integers = false}); }

}  // namespace

constinit const OpConformance conformance_reduce_l2{cases, reduced_relative};

}  // namespace backplane::graph::conformance::reduce_l2
