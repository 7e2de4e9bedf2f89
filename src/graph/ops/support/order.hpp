// Elements along an axis in the order in which ops that choose take them.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph {

struct Order {
    bool largest = true;  // first, else the smallest; NaN before all
    bool last = false;    // of equal ones the last comes first

    [[nodiscard]] bool before(double a, double b) const {
        if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
        return largest ? a > b : a < b;
    }
};

// take(place in a result of k along the axis, place in x, position along the axis) for the first k of each line.
template <typename Take>
void for_first(const ReferenceTensor& x, size_t axis, int64_t k, const Order& order, Take&& take) {
    const AroundAxis a(x.shape, axis);
    std::vector<int64_t> positions(static_cast<size_t>(a.extent));
    for (int64_t o = 0; o < a.outer; ++o)
        for (int64_t i = 0; i < a.inner; ++i) {
            std::iota(positions.begin(), positions.end(), 0);
            if (order.last) std::reverse(positions.begin(), positions.end());
            std::stable_sort(positions.begin(), positions.end(), [&](int64_t p, int64_t q) {
                return order.before(x.data[a.at(o, p, i)], x.data[a.at(o, q, i)]);
            });
            for (int64_t rank = 0; rank < k; ++rank) {
                const int64_t position = positions[static_cast<size_t>(rank)];
                take(static_cast<size_t>((o * k + rank) * a.inner + i), a.at(o, position, i), position);
            }
        }
}

template <bool largest>
void reference_arg(const ReferenceCall& call) {
    const bool last = call.attributes.integer(Attr::select_last_index) != 0;
    if (call.output.data.empty()) return;
    for_first(call.input(0), static_cast<size_t>(call.attributes.integer(Attr::axis)), 1, {largest, last},
              [&](size_t to, size_t, int64_t position) { call.output.data[to] = static_cast<double>(position); });
}

}  // namespace backplane::graph
