// Loops over strided operands, outermost first, with as few loops as their strides allow.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/strided.hpp"

namespace backplane::cpu {

template <size_t K>
struct LoopNest : backend::Loops<K> {
    using backend::Loops<K>::size;
    using backend::Loops<K>::stride;

    [[nodiscard]] int64_t rows() const {
        int64_t n = 1;
        for (size_t d = 0; d + 1 < size.size(); ++d) n *= size[d];
        return n;
    }
    [[nodiscard]] int64_t inner() const { return size.back(); }
    // Offsets of the operands at the start of row r.
    [[nodiscard]] std::array<int64_t, K> row(int64_t r) const {
        std::array<int64_t, K> at{};
        for (size_t d = size.size() - 1; d-- > 0;) {
            const int64_t i = r % size[d];
            r /= size[d];
            for (size_t k = 0; k < K; ++k) at[k] += i * stride[k][d];
        }
        return at;
    }
};

// Drops loops of one, orders the loops by the stride of operand 0 (the result), and merges neighbours that are one run for all.
template <size_t K>
LoopNest<K> simplify(const std::vector<int64_t>& size, const std::array<std::vector<int64_t>, K>& stride) {
    std::vector<size_t> order;
    order.reserve(size.size());
    for (size_t d = 0; d < size.size(); ++d)
        if (size[d] != 1) order.push_back(d);
    for (size_t i = 1; i < order.size(); ++i)  // stable insertion sort, descending stride
        for (size_t j = i; j > 0 && stride[0][order[j - 1]] < stride[0][order[j]]; --j) std::swap(order[j - 1], order[j]);
    LoopNest<K> out;
    const size_t room = order.size() + 1;
    out.size.reserve(room);
    for (auto& s : out.stride) s.reserve(room);
    for (const size_t d : order) out.add(d, size, stride);
    if (out.size.empty()) {
        out.size.push_back(1);
        for (size_t k = 0; k < K; ++k) out.stride[k].push_back(1);
    }
    return out;
}

}  // namespace backplane::cpu
