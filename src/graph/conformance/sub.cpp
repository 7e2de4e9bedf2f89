// Sub is rounded correctly everywhere.
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

constinit const OpConformance conformance_sub{cases, bounds::rounded<2>};

}  // namespace backplane::graph
