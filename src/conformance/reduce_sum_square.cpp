// ReduceSumSquare: of nothing 0. The scale is the result: no square cancels another.
#include "conformance/reduce.hpp"

namespace backplane::graph::conformance::reduce_sum_square {

namespace {

void cases(CaseList& list) { reduce_cases(list, {.empties = true, .special = true}); }

}  // namespace

constinit const OpConformance conformance_reduce_sum_square{cases, reduced_relative};

}  // namespace backplane::graph::conformance::reduce_sum_square
