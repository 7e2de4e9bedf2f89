// Reciprocal: one rounding, as of the quotient that it is.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::reciprocal {

namespace {

void cases(CaseList& list) { unary_cases(list, {0.1, 8, 1e-6, 1e30, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {}, false}); }

}  // namespace

constinit const OpConformance conformance_reciprocal{cases, bounds::nearest};

}  // namespace backplane::graph::conformance::reciprocal
