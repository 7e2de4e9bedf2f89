// Div: hardware without a division multiplies by a reciprocal, which loses a few units.
#include "graph/conformance/elementwise.hpp"

namespace backplane::graph {

namespace {

void cases(CaseList& list) {
    binary_cases(list, {{-4, 4},
                        {0.25, 4},
                        {{kInfinity, 1.0},
                         {kInfinity, -kInfinity},
                         {kInfinity, kInfinity},
                         {kNaN, 1.0},
                         {1.0, kNaN},
                         {0.0, -0.0},
                         {-0.0, -0.0},
                         {0.0, kInfinity},
                         {1.0, 0.0},
                         {-1.0, 0.0},
                         {1.0, -0.0},
                         {0.0, 0.0}},
                        true});
}

}  // namespace

constinit const OpConformance conformance_div{cases, bounds::rounded<6>};

}  // namespace backplane::graph
