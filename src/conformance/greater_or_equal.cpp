// GreaterOrEqual is a judgement: exact.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::greater_or_equal {

namespace {

void cases(CaseList& list) { comparison_cases(list); }

}  // namespace

constinit const OpConformance conformance_greater_or_equal{cases, bounds::exact};

}  // namespace backplane::graph::conformance::greater_or_equal
