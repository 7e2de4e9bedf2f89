// ReduceL1: of nothing 0. The scale is the result: no magnitude cancels another.
#include "conformance/reduce.hpp"

namespace backplane::graph::conformance::reduce_l1 {

namespace {

void cases(CaseList& list) { reduce_cases(list, {.empties = true, .special = true}); }

}  // namespace

constinit const OpConformance conformance_reduce_l1{cases, reduced_relative};

}  // namespace backplane::graph::conformance::reduce_l1
