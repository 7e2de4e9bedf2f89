// Loops over strided operands, outermost first, with as few loops as their strides allow.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plan.hpp"

namespace backplane::cpu {

// K operands walked together: element (i0, i1, ...) of operand k lies at sum(i_d * stride[k][d]).
template <size_t K>
struct LoopNest {
    std::vector<int64_t> size;
    std::array<std::vector<int64_t>, K> stride;

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
    for (size_t d = 0; d < size.size(); ++d)
        if (size[d] != 1) order.push_back(d);
    for (size_t i = 1; i < order.size(); ++i)  // stable insertion sort, descending stride
        for (size_t j = i; j > 0 && stride[0][order[j - 1]] < stride[0][order[j]]; --j) std::swap(order[j - 1], order[j]);
    LoopNest<K> out;
    for (const size_t d : order) {
        bool merge = !out.size.empty();
        for (size_t k = 0; k < K && merge; ++k) merge = out.stride[k].back() == stride[k][d] * size[d];
        if (merge) {
            out.size.back() *= size[d];
            for (size_t k = 0; k < K; ++k) out.stride[k].back() = stride[k][d];
        } else {
            out.size.push_back(size[d]);
            for (size_t k = 0; k < K; ++k) out.stride[k].push_back(stride[k][d]);
        }
    }
    if (out.size.empty()) {
        out.size.push_back(1);
        for (size_t k = 0; k < K; ++k) out.stride[k].push_back(1);
    }
    return out;
}

// Strides of `value` as an operand of a result of `rank` dimensions: missing and repeated dimensions get stride 0.
inline std::vector<int64_t> broadcast_strides(const Value& value, const std::vector<int64_t>& to) {
    std::vector<int64_t> out(to.size(), 0);
    const std::vector<int64_t> own = strides_of(value);
    const size_t shift = to.size() - own.size();
    for (size_t d = 0; d < own.size(); ++d) out[d + shift] = value.dim[d] == 1 ? 0 : own[d];
    return out;
}

}  // namespace backplane::cpu
