// Erf: the usual polynomials are good to an absolute error, so the scale is 1.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::erf {

namespace {

void cases(CaseList& list) { unary_cases(list, {-4, 4, -100, 100, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {}, false}); }

}  // namespace

constinit const OpConformance conformance_erf{cases, bounds::rounded<8, 4, bounds::Scale::one>};

}  // namespace backplane::graph::conformance::erf
