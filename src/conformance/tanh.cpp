// Tanh: relative to the result, near 0 too.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::tanh {

namespace {

void cases(CaseList& list) { unary_cases(list, {-4, 4, -80, 80, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {}, false}); }

}  // namespace

constinit const OpConformance conformance_tanh{cases, bounds::rounded<8, 4>};

}  // namespace backplane::graph::conformance::tanh
