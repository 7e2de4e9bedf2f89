// Selu: as Elu.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::selu {

namespace {

void cases(CaseList& list) {
    unary_cases(list, {-8, 8, -100, 100, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {}, false});
    unary_cases(list, {-0.01, 0.01, 0, 0, {-1e-30, -1e-10}, {{Attr::alpha, 2.0}, {Attr::gamma, 0.5}}, false, "-alpha-2"});
}

}  // namespace

constinit const OpConformance conformance_selu{cases, bounds::rounded<16, 4>};

}  // namespace backplane::graph::conformance::selu
