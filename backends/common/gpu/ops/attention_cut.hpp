// Which kernel makes an Attention, and how it is cut for the device.
#pragma once

#include <cstdint>
#include <vector>

#include "common/gpu/abilities.hpp"
#include "common/gpu/kernel_table.hpp"

namespace backplane::gpu::ops::attention {

constexpr int64_t kMostWidth = 256;  // of a head of v: sums of its rows are in registers

struct Sizes {
    int64_t pairs, rows, keys, depth, width;
    uint32_t dtype;
    bool truth;     // the mask is of bool
    bool relative;  // positions count
    bool cached;    // k and v are q8_0
    int64_t distances;
};

// A kernel, and how it is cut: how many rows a workgroup makes.
struct Cut {
    uint32_t kernel, invocations, rows;
    std::vector<uint32_t> constants;
    [[nodiscard]] bool of_tiles() const {
        return kernel == kKernel_attention_tiles_f32 || kernel == kKernel_attention_tiles_f32_bool ||
               kernel == kKernel_attention_parts_f32 || kernel == kKernel_attention_parts_few_f32;
    }
    // Masks of numbers and of truths alike, as bytes.
    [[nodiscard]] bool takes_any_mask() const { return in_parts(kernel) || kernel == kKernel_attention_matrix_f16; }
    [[nodiscard]] bool is_for_warpgroups() const {
        return kernel == kKernel_attention_warpgroup_f16 || kernel == kKernel_attention_warpgroup_f16_bool;
    }
    [[nodiscard]] bool takes_biases() const { return on_matrix_units(kernel) && !in_parts(kernel); }
};

Cut choose(const Abilities& can, uint32_t math, const Sizes& sizes);

}  // namespace backplane::gpu::ops::attention
