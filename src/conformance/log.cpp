// Log: near 1 the result is as uncertain as its input, so inputs may count as 4 units off.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::log {

namespace {

void cases(CaseList& list) { unary_cases(list, {0.01, 8, 1e-6, 1e30, {0.0, -0.0, kInfinity, kNaN, -1.0, 1.0}, {}, false}); }

}  // namespace

constinit const OpConformance conformance_log{cases, bounds::rounded<8, 4>};

}  // namespace backplane::graph::conformance::log
