#include "shapes.hpp"

#include <algorithm>

namespace backplane::ggml {

int64_t product(const Shape& shape, size_t first, size_t last) {
    int64_t total = 1;
    for (size_t i = first; i < std::min(last, shape.size()); ++i) total *= shape[i];
    return total;
}

Move simplified(const Move& move) {
    Move result{{}, move.from_offset, move.to_offset};
    for (const Move::Axis& axis : move.axes) {
        if (axis.extent == 1) continue;
        if (!result.axes.empty()) {
            Move::Axis& before = result.axes.back();
            if (before.from == axis.extent * axis.from && before.to == axis.extent * axis.to) {
                before = {before.extent * axis.extent, axis.from, axis.to};
                continue;
            }
        }
        result.axes.push_back(axis);
    }
    return result;
}

Around::Around(const Shape& shape, size_t axis)
    : outer(product(shape, 0, axis)), extent(shape[axis]), inner(product(shape, axis + 1)) {}

std::vector<Shape> broadcast_to_four(const std::vector<Shape>& operands, const Shape& result) {
    std::vector<Shape> all = operands;
    all.push_back(result);
    for (Shape& s : all) s.insert(s.begin(), result.size() - s.size(), 1);
    std::vector<Shape> joined(all.size());
    for (size_t axis = 0; axis < result.size(); ++axis) {
        if (result[axis] == 1) continue;
        // A neighbour joins when every operand either has both axes or repeats along both.
        const bool joins = !joined[0].empty() && std::all_of(all.begin(), all.end(), [&](const Shape& s) {
            const Shape& j = joined[static_cast<size_t>(&s - all.data())];
            return (j.back() == 1) == (s[axis] == 1);
        });
        for (size_t k = 0; k < all.size(); ++k) {
            if (joins)
                joined[k].back() *= all[k][axis];
            else
                joined[k].push_back(all[k][axis]);
        }
    }
    if (joined.back().size() > 4) return {};
    for (Shape& s : joined) s.insert(s.begin(), 4 - s.size(), 1);
    return joined;
}

}  // namespace backplane::ggml
