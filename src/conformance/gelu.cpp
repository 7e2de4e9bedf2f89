// Gelu: 1 + erf loses its digits on the left, where the result is small beside x; the scale is x.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::gelu {

namespace {

void cases(CaseList& list) {
    unary_cases(list, {-4, 4, -30, 30, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {}, false});
    unary_cases(list, {-4, 4, -30, 30, {0.0, -0.0, kInfinity, -kInfinity, kNaN}, {{Attr::approximate, 1}}, false, "-tanh"});
}

}  // namespace

constinit const OpConformance conformance_gelu{cases, bounds::rounded<8, 4, bounds::Scale::input>};

}  // namespace backplane::graph::conformance::gelu
