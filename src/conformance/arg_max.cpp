// ArgMax is a choice: exact.
#include "conformance/order.hpp"

namespace backplane::graph::conformance::arg_max {

namespace {

void cases(CaseList& list) { arg_cases(list); }

}  // namespace

constinit const OpConformance conformance_arg_max{cases, bounds::exact};

}  // namespace backplane::graph::conformance::arg_max
