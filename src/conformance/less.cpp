// Less is a judgement: exact.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::less {

namespace {

void cases(CaseList& list) { comparison_cases(list); }

}  // namespace

constinit const OpConformance conformance_less{cases, bounds::exact};

}  // namespace backplane::graph::conformance::less
