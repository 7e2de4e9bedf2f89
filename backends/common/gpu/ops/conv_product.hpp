// What kernels of convolutions are told, and filters as those on matrix units want them.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <vector>

#include "common/gpu/lowering.hpp"
#include "common/gpu/ops/tiles.hpp"

namespace backplane::gpu::ops::conv {

// Of three axes, the outer ones 1 where there are fewer: those of maps, results or filters.
using Extents = std::array<int64_t, 3>;

Extents extents_of(const Value& v, bool channels_last = false);

bool has_channels_last(const Node& node);
bool is_transposed(const Node& node);
// Of ConvTranspose those that Conv has too: what else it has is in the result's shape.
backplane::ops::ConvAttributes attributes_of(const Lowering& to, const Node& node);

// Strides and dilations of 1 along rows and columns?
template <class Record>
bool has_unit_steps(const Record& p) {
    return p.stride_h == 1 && p.stride_w == 1 && p.dilation_h == 1 && p.dilation_w == 1;
}

// Is a pixel of the result made of that pixel alone?
template <class Record>
bool is_pointwise(const Record& p) {
    const bool alike = p.planes == p.out_planes && p.height == p.out_height && p.width == p.out_width;
    return alike && has_unit_steps(p) && p.stride_d == 1 && p.kernel_d * p.kernel_h * p.kernel_w == 1 &&
           p.pad_front + p.pad_top + p.pad_left == 0;
}

// What every convolution is told: ConvParameters or ConvDepthwiseParameters.
template <class Record = ConvParameters>
Record geometry_of(const Lowering& to, const Node& node) {
    const Value& w = to[node.inputs[1]];
    const Extents x = extents_of(to[node.inputs[0]], has_channels_last(node));
    const Extents y = extents_of(to[node.output], has_channels_last(node));
    const Extents kernel = extents_of(w);
    const auto how = attributes_of(to, node);
    const size_t missing = 5 - w.dim.size();  // axes, in front
    const auto at = [&](const backplane::ops::List& list, size_t axis, int64_t otherwise) {
        return word(axis < missing ? otherwise : list[axis - missing]);
    };
    Record out{};
    out.outputs = word(is_transposed(node) ? w.dim[1] : w.dim[0] / how.group);
    out.channels = word(is_transposed(node) ? w.dim[0] / how.group : w.dim[1]);
    out.groups = word(how.group);
    out.planes = word(x[0]), out.height = word(x[1]), out.width = word(x[2]);
    out.out_planes = word(y[0]), out.out_height = word(y[1]), out.out_width = word(y[2]);
    out.kernel_d = word(kernel[0]), out.kernel_h = word(kernel[1]), out.kernel_w = word(kernel[2]);
    out.stride_d = at(how.strides, 0, 1), out.stride_h = at(how.strides, 1, 1), out.stride_w = at(how.strides, 2, 1);
    out.pad_front = at(how.pads, 0, 0), out.pad_top = at(how.pads, 1, 0), out.pad_left = at(how.pads, 2, 0);
    out.dilation_d = at(how.dilations, 0, 1), out.dilation_h = at(how.dilations, 1, 1);
    out.dilation_w = at(how.dilations, 2, 1);
    if (is_pointwise(out)) {  // maps are as good as one row of pixels, whatever their axes
        out.width = out.out_width = out.planes * out.height * out.width;
        out.planes = out.out_planes = out.height = out.out_height = 1;
    }
    return out;
}

std::string label_of(const Lowering& to, const Node& node, const char* kind);
std::vector<Operand> operands_of(const Lowering& to, const Node& node);

int64_t taps_of(const ConvParameters& p);
int64_t pixels_of(const ConvParameters& p);
int64_t groups_of(const Node& node);
int64_t outputs_of(const Lowering& to, const Node& node);
// More than one plane, of the input or of the filters or beside the input?
bool is_deep(const ConvParameters& p);

// A kernel that makes all output channels in blocks of `block` for each of `tiles` pieces of the map. Its constants: the size of the
// workgroup, the epilogue (2), then `more`.
Dispatch product_of(const Lowering& to, const Node& node, const char* kind, uint32_t kernel, ConvParameters parameters,
                    int64_t block, int64_t tiles, uint32_t invocations, std::initializer_list<uint32_t> more);

// How filters are laid out for a kernel: tiles of rows x 16 channels of the input, `tiles` of them in all; what makes them.
struct FilterLayout {
    uint32_t kernel = 0, invocations = 0;
    int64_t rows = 0, tiles = 0, workgroups = 0;
    ConvFiltersParameters parameters = {};
};

// Tiles of the filters, in the order in which a kernel reads them: made once where no node makes the filters and no other reads them, by
// pack() of a weight, of a constant when the program is made; else at each run.
Operand lay_out_filters(Lowering& to, const Node& node, FilterLayout as);

}  // namespace backplane::gpu::ops::conv
