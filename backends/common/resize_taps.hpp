// Where each position of a resized axis is taken from.
#pragma once

#include <cstdint>
#include <vector>

#include "common/element_types.hpp"
#include "common/graph.hpp"

namespace backplane::backend {

// For each position of the result `count` positions of the operand: the nearest, or the two or four around it and their weights.
struct Taps {
    size_t count = 1;
    std::vector<int32_t> at;
    std::vector<float> weight;  // of the nearest: none
};

// Of an element that lies `distance` away, by Keys' cubic convolution with the coefficient a; 0 from 2 on.
double cubic_weight(double distance, double a);

// Of a Resize: what is not nearest computes.
inline Types types_of_resize(const Node& node) {
    return node.as<backplane::ops::ResizeAttributes>().mode == backplane::ops::ResizeMode::nearest ? Types::moves
                                                                                                   : Types::computes;
}

// Of the Resize `node`, along an axis of `in` elements that becomes one of `out`. Worked out in float64.
Taps taps_of(const Node& node, int64_t in, int64_t out);

}  // namespace backplane::backend
