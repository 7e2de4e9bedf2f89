// Mish: what is left of e^x far to the left is small beside x; the scale is x.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::mish {

namespace {

void cases(CaseList& list) { unary_cases(list, {-8, 8, -80, 80, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {}, false}); }

}  // namespace

constinit const OpConformance conformance_mish{cases, bounds::rounded<8, 4, bounds::Scale::input>};

}  // namespace backplane::graph::conformance::mish
