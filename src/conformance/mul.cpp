// Mul is rounded correctly everywhere.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::mul {

namespace {

void cases(CaseList& list) { binary_cases(list, {{-4, 4}, {-4, 4}, arithmetic_specials()}); }

}  // namespace

constinit const OpConformance conformance_mul{cases, bounds::rounded<2>};

}  // namespace backplane::graph::conformance::mul
