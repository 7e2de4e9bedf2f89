// Greater is a judgement: exact.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::greater {

namespace {

void cases(CaseList& list) { comparison_cases(list); }

}  // namespace

constinit const OpConformance conformance_greater{cases, bounds::exact};

}  // namespace backplane::graph::conformance::greater
