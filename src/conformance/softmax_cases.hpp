// Cases that Softmax and LogSoftmax share.
#pragma once

#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph {

void softmax_cases(CaseList& list);

// Units that a sum of e^(x - m) along the axis may lose: each costs units of x - m, the sum its own.
double units_of_exponentials(const BoundCall& call);

}  // namespace backplane::graph
