// How operands lie in memory, for kernels that have the device copy boxes of them (kernels/warpgroup.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driver.hpp"

namespace backplane::cuda {

constexpr size_t kMostMaps = 5;  // of a kernel
constexpr size_t kMostAxes = 4;  // of a map

// An operand of halves as a tensor of three or four axes, the first of which is dense, and what is copied of it at once.
struct Boxes {
    uint32_t operand = 0, axes = 3;
    uint64_t first = 0;  // from the operand's begin, in bytes
    uint64_t extents[kMostAxes] = {1, 1, 1, 1};
    uint64_t strides[kMostAxes - 1] = {};  // of all axes but the first, in bytes
    uint32_t box[kMostAxes] = {64, 1, 1, 1};
    int swizzle = kMapSwizzle128;  // how eights are exchanged in the lines of shared memory, which are as long
};

// What the kernel (a gpu::Kernel) asks for, in the order of its arguments; none: it copies nothing so. `batch`: workgroups along the third axis.
std::vector<Boxes> boxes_of(uint32_t kernel, std::span<const uint32_t> constants, std::span<const uint32_t> words,
                            uint32_t batch);

}  // namespace backplane::cuda
