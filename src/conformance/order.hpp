// Values that ops which choose by order are tried with.
#pragma once

#include "conformance/bounds.hpp"
#include "conformance/support.hpp"

namespace backplane::graph {

// Both zeros, which are equal, infinities, and with `nan` what is no number; then values of which many are equal.
inline Values ordered_values(DType dtype, bool nan = false) {
    if (!is_float(dtype)) return {-3, 3, {2, -3, 2, -3, 3, 3}};
    Values values{-1, 1, {0.5, -0.0, 0.0, 0.5, kInfinity, -kInfinity, kInfinity, -kInfinity, 0.25, -0.25}};
    if (nan) values.first.insert(values.first.begin() + 3, {kNaN, 1.0, kNaN});
    return values;
}

// Of one position along an axis.
void arg_cases(CaseList& list);

}  // namespace backplane::graph
