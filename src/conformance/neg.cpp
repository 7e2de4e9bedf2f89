// Neg flips a sign: exact.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::neg {

namespace {

void cases(CaseList& list) { unary_cases(list, {-4, 4, -1e30, 1e30, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {}, true}); }

}  // namespace

constinit const OpConformance conformance_neg{cases, bounds::exact};

}  // namespace backplane::graph::conformance::neg
