// Round is exact; halves go to the even number, and numbers that have no fraction stay.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::round {

namespace {

void cases(CaseList& list) {
    unary_cases(list, {-4,
                       4,
                       -1e9,
                       1e9,
                       {0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 8388607.5, -8388607.5, 16777216.0, -16777216.0, 1e30,
                        -1e30, kInfinity, -kInfinity, kNaN},
                       {},
                       false});
}

}  // namespace

constinit const OpConformance conformance_round{cases, bounds::exact};

}  // namespace backplane::graph::conformance::round
