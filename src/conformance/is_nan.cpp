// IsNaN is a judgement: exact. What lies next to NaN is the infinities.
#include "conformance/elementwise.hpp"

namespace backplane::graph::conformance::is_nan {

namespace {

void cases(CaseList& list) {
    unary_cases(list, {.special = {kNaN, kInfinity, -kInfinity, 0.0, -0.0, 65504.0, -65504.0, -kNaN}});
}

}  // namespace

constinit const OpConformance conformance_is_nan{cases, bounds::exact};

}  // namespace backplane::graph::conformance::is_nan
