// Exp: an argument to the range of 2^x costs its own rounding, so inputs may count as 4 units off.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::exp {

namespace {

void cases(CaseList& list) { unary_cases(list, {-8, 8, -80, 80, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {}, false}); }

}  // namespace

constinit const OpConformance conformance_exp{cases, bounds::rounded<8, 4>};

}  // namespace backplane::graph::conformance::exp
