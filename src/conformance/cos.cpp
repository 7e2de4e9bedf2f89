// Cos: the argument is brought to one period first, which moves it by units of itself; near a zero the error is absolute.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::cos {

namespace {

void cases(CaseList& list) { unary_cases(list, {-4, 4, -100, 100, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {}, false}); }

}  // namespace

constinit const OpConformance conformance_cos{cases, bounds::rounded<8, 4, bounds::Scale::one>};

}  // namespace backplane::graph::conformance::cos
