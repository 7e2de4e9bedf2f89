// Xor of truth values: exact.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::logical_xor {

namespace {

void cases(CaseList& list) { logical_cases(list); }

}  // namespace

constinit const OpConformance conformance_logical_xor{cases, bounds::exact};

}  // namespace backplane::graph::conformance::logical_xor
