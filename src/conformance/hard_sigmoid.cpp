// HardSigmoid: a product and a sum, whose scale is 1.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::hard_sigmoid {

namespace {

void cases(CaseList& list) {
    unary_cases(list, {-4, 4, -1e30, 1e30, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {}, false});
    unary_cases(list, {-4,
                       4,
                       0,
                       0,
                       {0.0, -0.0, kInfinity, -kInfinity, kNaN},
                       {{Attr::alpha, 0.5}, {Attr::beta, 0.25}},
                       false,
                       "-alpha-0.5"});
}

}  // namespace

constinit const OpConformance conformance_hard_sigmoid{cases, bounds::rounded<4, 2, bounds::Scale::one>};

}  // namespace backplane::graph::conformance::hard_sigmoid
