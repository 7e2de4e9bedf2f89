// Softplus: ln(1 + e^x) loses its digits on the left when there is no log1p; the scale is at least 1.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::softplus {

namespace {

void cases(CaseList& list) { unary_cases(list, {-8, 8, -80, 80, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {}, false}); }

}  // namespace

constinit const OpConformance conformance_softplus{cases, bounds::rounded<8, 4, bounds::Scale::one>};

}  // namespace backplane::graph::conformance::softplus
