// Sqrt: one rounding, as IEEE 754 has it.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::sqrt {

namespace {

void cases(CaseList& list) { unary_cases(list, {0, 8, 0, 1e30, {0.0, -0.0, kInfinity, kNaN, -1.0, 1.0, 4.0}, {}, false}); }

}  // namespace

constinit const OpConformance conformance_sqrt{cases, bounds::nearest};

}  // namespace backplane::graph::conformance::sqrt
