// Loops over strided operands, outermost first, with as few loops as their strides allow, in the form the kernels read.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/gpu/lowering.hpp"

namespace backplane::gpu {

// Element (i0, i1, ...) of operand k lies at sum(i_d * stride[k][d]). Loops of one are left out, neighbours that are one run for both
// operands are merged. The order of the loops stays.
struct LoopNest {
    std::vector<int64_t> size;
    std::array<std::vector<int64_t>, 2> stride;

    LoopNest(const std::vector<int64_t>& sizes, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
        for (size_t d = 0; d < sizes.size(); ++d) {
            if (sizes[d] == 1) continue;
            const bool merge = !size.empty() && stride[0].back() == a[d] * sizes[d] && stride[1].back() == b[d] * sizes[d];
            if (merge) {
                size.back() *= sizes[d];
                stride[0].back() = a[d];
                stride[1].back() = b[d];
            } else {
                size.push_back(sizes[d]);
                stride[0].push_back(a[d]);
                stride[1].push_back(b[d]);
            }
        }
    }

    // rank, sizes[8], strides[8] of each of `operands` operands
    void append_to(std::vector<uint32_t>& parameters, size_t operands = 2) const {
        parameters.push_back(static_cast<uint32_t>(size.size()));
        append(parameters, size);
        for (size_t k = 0; k < operands; ++k) append(parameters, stride[k]);
    }

private:
    static void append(std::vector<uint32_t>& to, const std::vector<int64_t>& values) {
        for (size_t d = 0; d < BP_MAX_RANK; ++d) to.push_back(d < values.size() ? word(values[d]) : 0);
    }
};

// Strides of `value` as an operand of a result of dimensions `to`: missing and repeated dimensions get stride 0.
inline std::vector<int64_t> broadcast_strides(const Value& value, const std::vector<int64_t>& to) {
    std::vector<int64_t> out(to.size(), 0);
    const std::vector<int64_t> own = strides_of(value);
    const size_t shift = to.size() - own.size();
    for (size_t d = 0; d < own.size(); ++d) out[d + shift] = value.dim[d] == 1 ? 0 : own[d];
    return out;
}

}  // namespace backplane::gpu
