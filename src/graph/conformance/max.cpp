// Max picks an operand: exact.
#include "graph/conformance/elementwise.hpp"

namespace backplane::graph {

namespace {

void cases(CaseList& list) {
    binary_cases(list, {{-4, 4},
                        {-4, 4},
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

constinit const OpConformance conformance_max{cases, bounds::exact};

}  // namespace backplane::graph
