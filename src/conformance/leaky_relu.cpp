// LeakyRelu is one product: alpha is rounded to float32, and so is the result.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::leaky_relu {

namespace {

void cases(CaseList& list) {
    unary_cases(list, {-4, 4, -1e30, 1e30, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {}, false});
    unary_cases(list, {-4, 4, 0, 0, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {{Attr::alpha, 0.2}}, false, "-alpha-0.2"});
}

}  // namespace

constinit const OpConformance conformance_leaky_relu{cases, bounds::rounded<4>};

}  // namespace backplane::graph::conformance::leaky_relu
