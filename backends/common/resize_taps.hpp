// Where each position of a resized axis is taken from.
#pragma once

#include <cstdint>
#include <vector>

#include "common/graph.hpp"

namespace backplane::backend {

// For each position of the result: the nearest position, or the two around it and the weight of the second.
struct Taps {
    std::vector<int32_t> first, second;
    std::vector<float> weight;
};

// Of the Resize `node`, along an axis of `in` elements that becomes one of `out`. Worked out in float64.
Taps taps_of(const Node& node, int64_t in, int64_t out);

}  // namespace backplane::backend
