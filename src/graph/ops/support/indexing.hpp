// Walking over dense row-major tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane::graph {

using Index = std::vector<int64_t>;

inline std::vector<int64_t> strides_of(const Shape& shape) {
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    return strides;
}

// Strides to read a tensor of shape `from` as if it had the shape `to`: 0 along axes that repeat.
inline std::vector<int64_t> broadcast_strides(const Shape& from, const Shape& to) {
    const std::vector<int64_t> own = strides_of(from);
    std::vector<int64_t> strides(to.size(), 0);
    const size_t missing = to.size() - from.size();
    for (size_t d = 0; d < from.size(); ++d) strides[missing + d] = from[d] == 1 ? 0 : own[d];
    return strides;
}

inline size_t offset_of(const Index& index, const std::vector<int64_t>& strides) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
    return static_cast<size_t>(offset);
}

// Where `index` points to along an axis of the operand x, a negative one counting from the end. Throws Error(invalid) where that is nowhere.
inline int64_t position_of(const char* op, int64_t index, const Shape& x, size_t axis) {
    const int64_t extent = x[axis];
    if (index < -extent || index >= extent)
        throw Error(Code::invalid, std::string(op) + ": index " + std::to_string(index) + " lies outside the " +
                                       std::to_string(extent) + " elements of its axis, x " + to_string(x));
    return index < 0 ? index + extent : index;
}

// Calls body(index, position) for each element in row-major order.
template <typename Body>
void for_each_index(const Shape& shape, Body&& body) {
    const int64_t n = elements(shape);
    Index index(shape.size(), 0);
    for (int64_t i = 0; i < n; ++i) {
        body(index, static_cast<size_t>(i));
        for (size_t d = shape.size(); d-- > 0;) {
            if (++index[d] < shape[d]) break;
            index[d] = 0;
        }
    }
}

// A tensor seen as [outer, extent, inner] around one axis.
struct AroundAxis {
    AroundAxis(const Shape& shape, size_t axis) : extent(shape[axis]) {
        for (size_t d = 0; d < axis; ++d) outer *= shape[d];
        for (size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
    }
    [[nodiscard]] size_t at(int64_t o, int64_t e, int64_t i) const {
        return static_cast<size_t>((o * extent + e) * inner + i);
    }
    int64_t outer = 1, extent = 1, inner = 1;
};

}  // namespace backplane::graph
