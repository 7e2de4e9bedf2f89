// Silu by way of Exp: inputs may count as 4 units off.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::silu {

namespace {

void cases(CaseList& list) { unary_cases(list, {-8, 8, -80, 80, {0.0, -0.0, kInfinity, kNaN}, {}, false}); }

}  // namespace

constinit const OpConformance conformance_silu{cases, bounds::rounded<8, 4>};

}  // namespace backplane::graph::conformance::silu
