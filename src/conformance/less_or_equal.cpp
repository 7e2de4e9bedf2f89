// LessOrEqual is a judgement: exact.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::less_or_equal {

namespace {

void cases(CaseList& list) { comparison_cases(list); }

}  // namespace

constinit const OpConformance conformance_less_or_equal{cases, bounds::exact};

}  // namespace backplane::graph::conformance::less_or_equal
