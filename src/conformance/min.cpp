// Min picks an operand: exact.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::min {

namespace {

void cases(CaseList& list) { binary_cases(list, {{-4, 4}, {-4, 4}, arithmetic_specials()}); }

}  // namespace

constinit const OpConformance conformance_min{cases, bounds::exact};

}  // namespace backplane::graph::conformance::min
