// Div: hardware without a division multiplies by a reciprocal, which loses a few units.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::div {

namespace {

void cases(CaseList& list) { binary_cases(list, {{-4, 4}, {0.25, 4}, arithmetic_specials()}); }

}  // namespace

constinit const OpConformance conformance_div{cases, bounds::rounded<6>};

}  // namespace backplane::graph::conformance::div
