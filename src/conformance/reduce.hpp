// Cases and bound that the reductions share.
#pragma once

#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph {

struct ReducePlan {
    bool empties = false;  // there is a result of nothing
    bool special = false;  // infinities and NaN among the elements
};

void reduce_cases(CaseList& list, const ReducePlan& plan);

// Of a sum or a mean.
std::vector<double> reduced_sum(const BoundCall& call);

}  // namespace backplane::graph
