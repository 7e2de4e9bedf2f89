// Abs clears a sign: exact.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::abs {

namespace {

void cases(CaseList& list) {
    unary_cases(list, {-4, 4, -1e30, 1e30, {0.0, -0.0, kInfinity, -kInfinity, kNaN, -1.0, 1.0}, {}, true});
}

}  // namespace

constinit const OpConformance conformance_abs{cases, bounds::exact};

}  // namespace backplane::graph::conformance::abs
