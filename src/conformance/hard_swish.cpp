// HardSwish: x + 3 loses its digits near -3; the scale is x.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::hard_swish {

namespace {

void cases(CaseList& list) {
    unary_cases(list, {-4, 4, -1e30, 1e30, {0.0, -0.0, 3.0, -3.0, kInfinity, -kInfinity, kNaN}, {}, false});
}

}  // namespace

constinit const OpConformance conformance_hard_swish{cases, bounds::rounded<4, 2, bounds::Scale::input>};

}  // namespace backplane::graph::conformance::hard_swish
