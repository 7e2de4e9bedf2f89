// How operands lie in memory, for kernels that have the device copy boxes of them (kernels/warpgroup.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace backplane::cuda {

constexpr size_t kMostMaps = 3;  // of a kernel

// An operand of halves as a tensor of three axes, the first of which is dense, and what is copied of it at once.
struct Boxes {
    uint32_t operand = 0;
    uint64_t extents[3] = {};
    uint32_t box[3] = {64, 1, 1};
};

// What the kernel (a gpu::Kernel) asks for, in the order of its arguments; none: it copies nothing so.
std::vector<Boxes> boxes_of(uint32_t kernel, std::span<const uint32_t> constants, std::span<const uint32_t> words);

}  // namespace backplane::cuda
