// Descriptions of Conv and ConvTranspose.
#pragma once

#include "backplane/ops/description.hpp"

namespace backplane::ops {

// Attributes of windows with nothing left empty, for so many spatial axes.
template <class Attributes>
Attributes filled_for(Attributes a, uint32_t axes) {
    const auto fill = [](List& list, uint32_t count, int64_t with) {
        if (!list.empty()) return;
        while (list.size() < count) list.push_back(with);
    };
    fill(a.strides, axes, 1);
    fill(a.pads, 2 * axes, 0);
    fill(a.dilations, axes, 1);
    return a;
}

struct ConvAttributes {
    List strides = {};    // one for each spatial axis; empty: 1
    List pads = {};       // of all axes their beginnings, then of all their ends: top left bottom right; empty: 0
    List dilations = {};  // one for each spatial axis; empty: 1
    int64_t group = 1;

    [[nodiscard]] ConvAttributes filled(uint32_t axes) const { return filled_for(*this, axes); }
};

// Spatial axes of a feature map [N, C, ...].
inline uint32_t spatial_axes(uint32_t rank) { return rank > 2 ? rank - 2 : 0; }

inline void complete_conv(const Call& call, void* attributes) {
    auto& a = *static_cast<ConvAttributes*>(attributes);
    a = a.filled(std::min<uint32_t>(spatial_axes(call.rank(0)), 3));
}

// Extent of the result along a spatial axis. `a` is filled.
inline int64_t conv_extent(const Call& call, const ConvAttributes& a, uint32_t axis) {
    const int64_t kernel = call.dims(1)[2 + axis];
    require(kernel >= 1, [&] { return call.text(1) + " has an empty kernel"; });
    const int64_t padded =
        checked_add(call, call.dims(0)[2 + axis], a.pads[axis] + a.pads[spatial_axes(call.rank(0)) + axis]);
    const int64_t reach = checked_add(call, checked_mul(call, kernel - 1, a.dilations[axis]), 1);
    require(reach <= padded, [&] {
        return "the kernel of " + call.text(1) + " reaches over " + std::to_string(reach) + " of the " +
               std::to_string(padded) + " padded elements of axis " + std::to_string(2 + axis) + ", " + call.text(0);
    });
    return (padded - reach) / a.strides[axis] + 1;
}

inline void conv_shape(const Call& call, Outputs out) {
    require(call.rank(0) >= 3 && call.rank(0) <= 5, [&] { return call.text(0) + " must have rank 3, 4 or 5"; });
    require_rank(call, 1, call.rank(0));
    const uint32_t axes = spatial_axes(call.rank(0));
    const ConvAttributes a = call.as<ConvAttributes>().filled(axes);
    require_numbers(call, BP_ATTR_strides, a.strides, axes);
    require_numbers(call, BP_ATTR_pads, a.pads, 2 * axes);
    require_numbers(call, BP_ATTR_dilations, a.dilations, axes);
    const int64_t group = a.group;
    const Dims& x = call.dims(0);
    const Dims& w = call.dims(1);
    require(x[1] % group == 0 && w[1] == x[1] / group, [&] {
        return call.text(1) + " wants " + std::to_string(w[1]) + " input channels times group " + std::to_string(group) +
               ", " + call.text(0) + " has " + std::to_string(x[1]);
    });
    require(w[0] % group == 0, [&] {
        return call.text(1) + " has " + std::to_string(w[0]) + " output channels, no multiple of group " +
               std::to_string(group);
    });
    require(!call.has(2) || call.dims(2) == Dims{w[0]},
            [&] { return call.text(2) + " must be [" + std::to_string(w[0]) + "] for " + call.text(1); });
    out[0].dims = {x[0], w[0]};
    for (uint32_t axis = 0; axis < axes; ++axis) out[0].dims.push_back(conv_extent(call, a, axis));
}

inline constexpr auto op_conv =
    describe<ConvAttributes>({.id = BP_OP_conv,
                              .summary = "convolution of feature maps of one, two or three spatial axes",
                              .shapes = "x[N, C, H, W], w[O, C / group, kh, kw], b[O]? -> y[N, O, H', W']; x[N, C, W] and "
                                        "x[N, C, D, H, W] alike; left out, strides and dilations are 1 and pads 0",
                              .inputs = {{"x", one_of(kFloats)}, {"w", like(0, kHalves)}, {"b", like(0), true}},
                              .outputs = {{"y", like(0)}},
                              .attributes = {attribute<&ConvAttributes::strides>(BP_ATTR_strides, at_least(1)),
                                             attribute<&ConvAttributes::pads>(BP_ATTR_pads, at_least(0)),
                                             attribute<&ConvAttributes::dilations>(BP_ATTR_dilations, at_least(1)),
                                             attribute<&ConvAttributes::group>(BP_ATTR_group, at_least(1))},
                              .shape = conv_shape,
                              .complete = complete_conv});

struct ConvTransposeAttributes {
    List strides = {};         // of the result, for a step of x; one for each spatial axis; empty: 1
    List pads = {};            // cut off the result: of all axes their beginnings, then of all their ends; empty: 0
    List dilations = {};       // one for each spatial axis; empty: 1
    List output_padding = {};  // more of the result behind the end of each axis; empty: 0
    int64_t group = 1;

    [[nodiscard]] ConvTransposeAttributes filled(uint32_t axes) const {
        ConvTransposeAttributes out = filled_for(*this, axes);
        while (output_padding.empty() && out.output_padding.size() < axes) out.output_padding.push_back(0);
        return out;
    }
};

inline void complete_conv_transpose(const Call& call, void* attributes) {
    auto& a = *static_cast<ConvTransposeAttributes*>(attributes);
    a = a.filled(std::min<uint32_t>(spatial_axes(call.rank(0)), 3));
}

// Extent of the result along a spatial axis. `a` is filled.
inline int64_t conv_transpose_extent(const Call& call, const ConvTransposeAttributes& a, uint32_t axis) {
    const int64_t kernel = call.dims(1)[2 + axis];
    const int64_t extent = call.dims(0)[2 + axis];
    require(kernel >= 1, [&] { return call.text(1) + " has an empty kernel"; });
    require(extent >= 1, [&] { return call.text(0) + " has an empty axis " + std::to_string(2 + axis); });
    require_attribute(a.output_padding[axis] < std::max(a.strides[axis], a.dilations[axis]), [&] {
        return "attribute output_padding of axis " + std::to_string(2 + axis) + " is " +
               std::to_string(a.output_padding[axis]) + ", must be less than the stride or the dilation";
    });
    const int64_t reach = checked_add(call, checked_mul(call, kernel - 1, a.dilations[axis]), 1);
    const int64_t spread = checked_mul(call, extent - 1, a.strides[axis]);
    const int64_t whole = checked_add(call, checked_add(call, spread, reach), a.output_padding[axis]);
    const int64_t cut = checked_add(call, a.pads[axis], a.pads[spatial_axes(call.rank(0)) + axis]);
    require(cut <= whole, [&] {
        return "pads cut " + std::to_string(cut) + " off the " + std::to_string(whole) + " elements that axis " +
               std::to_string(2 + axis) + " of the result has, " + call.text(0);
    });
    return whole - cut;
}

inline void conv_transpose_shape(const Call& call, Outputs out) {
    require(call.rank(0) >= 3 && call.rank(0) <= 5, [&] { return call.text(0) + " must have rank 3, 4 or 5"; });
    require_rank(call, 1, call.rank(0));
    const uint32_t axes = spatial_axes(call.rank(0));
    const ConvTransposeAttributes a = call.as<ConvTransposeAttributes>().filled(axes);
    require_numbers(call, BP_ATTR_strides, a.strides, axes);
    require_numbers(call, BP_ATTR_pads, a.pads, 2 * axes);
    require_numbers(call, BP_ATTR_dilations, a.dilations, axes);
    require_numbers(call, BP_ATTR_output_padding, a.output_padding, axes);
    const Dims& x = call.dims(0);
    const Dims& w = call.dims(1);
    require(w[0] == x[1] && x[1] % a.group == 0, [&] {
        return call.text(1) + " wants " + std::to_string(w[0]) + " input channels in " + std::to_string(a.group) +
               " groups, " + call.text(0) + " has " + std::to_string(x[1]);
    });
    const int64_t outputs = checked_mul(call, w[1], a.group);
    require(!call.has(2) || call.dims(2) == Dims{outputs},
            [&] { return call.text(2) + " must be [" + std::to_string(outputs) + "] for " + call.text(1); });
    out[0].dims = {x[0], outputs};
    for (uint32_t axis = 0; axis < axes; ++axis) out[0].dims.push_back(conv_transpose_extent(call, a, axis));
}

inline constexpr auto op_conv_transpose = describe<ConvTransposeAttributes>(
    {.id = BP_OP_conv_transpose,
     .summary = "transposed convolution: each element of x adds the filters, times itself, to the result around its place",
     .shapes =
         "x[N, C, H, W], w[C, O / group, kh, kw], b[O]? -> y[N, O, H', W'], H' = stride (H - 1) + dilation (kh - 1) + 1 "
         "+ output_padding - pads; x[N, C, W] and x[N, C, D, H, W] alike",
     .inputs = {{"x", one_of(kFloats)}, {"w", like(0, kHalves)}, {"b", like(0), true}},
     .outputs = {{"y", like(0)}},
     .attributes = {attribute<&ConvTransposeAttributes::strides>(BP_ATTR_strides, at_least(1)),
                    attribute<&ConvTransposeAttributes::pads>(BP_ATTR_pads, at_least(0)),
                    attribute<&ConvTransposeAttributes::dilations>(BP_ATTR_dilations, at_least(1)),
                    attribute<&ConvTransposeAttributes::output_padding>(BP_ATTR_output_padding, at_least(0)),
                    attribute<&ConvTransposeAttributes::group>(BP_ATTR_group, at_least(1))},
     .shape = conv_transpose_shape,
     .complete = complete_conv_transpose});

}  // namespace backplane::ops
