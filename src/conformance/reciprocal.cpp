// Reciprocal: a fast one with a Newton step loses a few units.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::reciprocal {

namespace {

void cases(CaseList& list) { unary_cases(list, {0.1, 8, 1e-6, 1e30, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {}, false}); }

}  // namespace

constinit const OpConformance conformance_reciprocal{cases, bounds::rounded<6>};

}  // namespace backplane::graph::conformance::reciprocal
