// PRelu is one product.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::p_relu {

namespace {

void cases(CaseList& list) {
    BinaryPlan plan{{-4, 4}, {-2, 2}, arithmetic_specials()};
    plan.both_ways = false;
    binary_cases(list, plan);
}

}  // namespace

constinit const OpConformance conformance_p_relu{cases, bounds::rounded<2>};

}  // namespace backplane::graph::conformance::p_relu
