// Loops over strided operands, outermost first, with as few loops as their strides allow, in the form the kernels read.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/gpu/lowering.hpp"
#include "common/strided.hpp"

namespace backplane::gpu {

// The order of the loops stays.
struct LoopNest : backend::Loops<2> {
    LoopNest(const std::vector<int64_t>& sizes, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
        const std::array<std::vector<int64_t>, 2> strides = {a, b};
        for (size_t d = 0; d < sizes.size(); ++d) add(d, sizes, strides);
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

}  // namespace backplane::gpu
