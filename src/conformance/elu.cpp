// Elu: e^x - 1 loses its digits near 0 unless it is made otherwise.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::elu {

namespace {

void cases(CaseList& list) {
    unary_cases(list, {-8, 8, -100, 100, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {}, false});
    unary_cases(list, {-0.01, 0.01, 0, 0, {-1e-30, -1e-10}, {{Attr::alpha, 0.3}}, false, "-alpha-0.3"});
}

}  // namespace

constinit const OpConformance conformance_elu{cases, bounds::rounded<16, 4>};

}  // namespace backplane::graph::conformance::elu
