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
template <size_t K>
struct LoopsOf : backend::Loops<K> {
    using backend::Loops<K>::size;
    using backend::Loops<K>::stride;

    LoopsOf(const std::vector<int64_t>& sizes, const std::array<std::vector<int64_t>, K>& strides) {
        for (size_t d = 0; d < sizes.size(); ++d) this->add(d, sizes, strides);
    }

    // The words of a nest in kernel_parameters.h: of one operand where there is no room for the strides of a second.
    void write_to(std::span<uint32_t> words) const {
        std::fill(words.begin(), words.end(), 0);
        words[0] = static_cast<uint32_t>(size.size());
        write(words.subspan(NEST_SIZES), size);
        for (size_t k = 0; k < K; ++k) {
            const size_t at = NEST_STRIDES + k * BP_MAX_RANK;
            if (words.size() > at) write(words.subspan(at), stride[k]);
        }
    }

private:
    static void write(std::span<uint32_t> to, const std::vector<int64_t>& values) {
        for (size_t d = 0; d < values.size(); ++d) to[d] = word(values[d]);
    }
};
static_assert(NEST_SECOND_STRIDES == NEST_STRIDES + BP_MAX_RANK && NEST_THIRD_STRIDES == NEST_SECOND_STRIDES + BP_MAX_RANK);

struct LoopNest : LoopsOf<2> {
    LoopNest(const std::vector<int64_t>& sizes, const std::vector<int64_t>& a, const std::vector<int64_t>& b)
        : LoopsOf<2>(sizes, {a, b}) {}
};

}  // namespace backplane::gpu
