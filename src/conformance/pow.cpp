// Pow by way of Exp and Log: both operands may count as 4 units off.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::pow {

namespace {

void cases(CaseList& list) {
    binary_cases(list, {{0.1, 4},
                        {-3, 3},
                        {{-2.0, 2.0},
                         {-2.0, 3.0},
                         {-2.0, 0.5},
                         {0.0, 2.0},
                         {0.0, -1.0},
                         {0.0, 0.0},
                         {kNaN, 0.0},
                         {1.0, kNaN},
                         {kInfinity, -1.0},
                         {-kInfinity, 3.0},
                         {4.0, 0.5},
                         {2.0, kInfinity},
                         {0.5, kInfinity},
                         {kNaN, 1.0}},
                        false});
}

}  // namespace

constinit const OpConformance conformance_pow{cases, bounds::rounded<8, 4>};

}  // namespace backplane::graph::conformance::pow
