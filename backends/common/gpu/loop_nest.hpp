// Loops over strided operands, outermost first, with as few loops as their strides allow, in the form the kernels read.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
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

    // The words of a nest in kernel_parameters.h: of one operand where there is no room for the strides of a second.
    void write_to(std::span<uint32_t> words) const {
        std::fill(words.begin(), words.end(), 0);
        words[0] = static_cast<uint32_t>(size.size());
        write(words.subspan(NEST_SIZES), size);
        write(words.subspan(NEST_STRIDES), stride[0]);
        if (words.size() > NEST_SECOND_STRIDES) write(words.subspan(NEST_SECOND_STRIDES), stride[1]);
    }

private:
    static void write(std::span<uint32_t> to, const std::vector<int64_t>& values) {
        for (size_t d = 0; d < values.size(); ++d) to[d] = word(values[d]);
    }
};

}  // namespace backplane::gpu
