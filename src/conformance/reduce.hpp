// Cases and bound that the reductions share.
#pragma once

#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph {

struct ReducePlan {
    bool empties = false;  // there is a result of nothing
    bool special = false;  // infinities and NaN among the elements
    bool integers = true;
    Values floats = {};  // where the op is well-conditioned
    bool wide = true;    // so it is from -1000 to 1000, too
};

void reduce_cases(CaseList& list, const ReducePlan& plan);

// Of a sum or a mean.
std::vector<double> reduced_sum(const BoundCall& call);
// Of what adds or multiplies so many terms of one sign: units of the result.
std::vector<double> reduced_relative(const BoundCall& call);
// How many elements make one of the result.
double terms_of(const BoundCall& call);

}  // namespace backplane::graph
