// Not of truth values: exact.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::logical_not {

namespace {

void cases(CaseList& list) { unary_cases(list, {.least = 0, .most = 1, .dtype = DType::boolean}); }

}  // namespace

constinit const OpConformance conformance_logical_not{cases, bounds::exact};

}  // namespace backplane::graph::conformance::logical_not
