// Sign is exact.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::sign {

namespace {

void cases(CaseList& list) { unary_cases(list, {-4, 4, -1e30, 1e30, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {}, false}); }

}  // namespace

constinit const OpConformance conformance_sign{cases, bounds::exact};

}  // namespace backplane::graph::conformance::sign
