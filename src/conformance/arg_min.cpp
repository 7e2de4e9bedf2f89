// ArgMin is a choice: exact.
#include "conformance/order.hpp"

namespace backplane::graph::conformance::arg_min {

namespace {

void cases(CaseList& list) { arg_cases(list); }

}  // namespace

constinit const OpConformance conformance_arg_min{cases, bounds::exact};

}  // namespace backplane::graph::conformance::arg_min
