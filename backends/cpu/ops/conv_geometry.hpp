// What a convolution is told by its node, and its filters as the kernels over channels-last maps read them.
#pragma once

#include <string>
#include <vector>

#include "lowering.hpp"

namespace backplane::cpu::ops::conv {

struct Geometry {
    ConvTask task;  // of a slice of two spatial axes, all but addresses; one axis is a row
    int64_t batch = 0, groups = 1, taps = 1;
    int64_t depth = 1, out_depth = 1, kernel_d = 1, stride_d = 1, pad_front = 0, dilation_d = 1;  // the first of three axes
    bool has_depth = false;
    uint32_t weight_dtype = BP_F32;
    [[nodiscard]] int64_t slice() const { return task.height * task.width; }
    [[nodiscard]] int64_t out_slice() const { return task.out_height * task.out_width; }
};

// The operands that hold the channels.
std::vector<ValueId> segments_of(const Node& node);
Geometry geometry_of(const Plan& plan, const Node& node);
bool is_depthwise(const Geometry& g);

std::string packing_text(const char* kind, const Geometry& g, const ConvKernels& k);
// Weights are OIDHW; kernels want [block][segment][tap][channel][columns], group after group, for each slice of the filters.
int64_t direct_floats(const Geometry& g, const ConvKernels& k);
void pack_slices(const Geometry& g, const ConvKernels& k, const std::byte* plain, float* out);

}  // namespace backplane::cpu::ops::conv
