// Shapes and strided blocks, row-major (last axis fastest), in elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/strided.hpp"

namespace backplane::ggml {

using Shape = std::vector<int64_t>;

int64_t product(const Shape& shape, size_t first = 0, size_t last = SIZE_MAX);
using backend::strides_of;  // dense, row-major

// A copy of a block: `extent` elements along each axis, these many apart in the source and in the destination.
struct Move {
    struct Axis {
        int64_t extent, from, to;
    };
    std::vector<Axis> axes;
    int64_t from_offset = 0, to_offset = 0;
};
// The same copy with as few axes as there can be: axes of one element dropped, neighbours that follow each other on both sides joined.
Move simplified(const Move& move);

// x[a, b, c, ...] around one axis: before, along and behind it.
struct Around {
    Around(const Shape& shape, size_t axis);
    int64_t outer, extent, inner;
};

// Shapes of the operands of a broadcast op and of its result, brought to four axes by joining neighbours; empty when they need more.
std::vector<Shape> broadcast_to_four(const std::vector<Shape>& operands, const Shape& result);

}  // namespace backplane::ggml
