// Description of Conv.
#pragma once

#include "backplane/ops/description.hpp"

namespace backplane::ops {

struct ConvAttributes {
    std::array<int64_t, 2> strides = {1, 1};
    std::array<int64_t, 4> pads = {};  // top left bottom right
    std::array<int64_t, 2> dilations = {1, 1};
    int64_t group = 1;
};

// Extent of the result along spatial axis 0 or 1.
inline int64_t conv_extent(const Call& call, uint32_t axis) {
    const auto& a = call.as<ConvAttributes>();
    const int64_t kernel = call.dims(1)[2 + axis];
    require(kernel >= 1, [&] { return call.text(1) + " has an empty kernel"; });
    const int64_t padded = checked_add(call, call.dims(0)[2 + axis], a.pads[axis] + a.pads[2 + axis]);
    const int64_t reach = checked_add(call, checked_mul(call, kernel - 1, a.dilations[axis]), 1);
    require(reach <= padded, [&] {
        return "the kernel of " + call.text(1) + " reaches over " + std::to_string(reach) + " of the " +
               std::to_string(padded) + " padded elements of axis " + std::to_string(2 + axis) + ", " + call.text(0);
    });
    return (padded - reach) / a.strides[axis] + 1;
}

inline void conv_shape(const Call& call, Outputs out) {
    require_rank(call, 0, 4);
    require_rank(call, 1, 4);
    const int64_t group = call.as<ConvAttributes>().group;
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
    out[0].dims = {x[0], w[0], conv_extent(call, 0), conv_extent(call, 1)};
}

inline constexpr auto op_conv =
    describe<ConvAttributes>({.id = BP_OP_conv,
                              .summary = "two-dimensional convolution of feature maps",
                              .shapes = "x[N, C, H, W], w[O, C / group, kh, kw], b[O]? -> y[N, O, H', W']",
                              .inputs = {{"x", one_of(kFloats)}, {"w", like(0, kHalves)}, {"b", like(0), true}},
                              .outputs = {{"y", like(0)}},
                              .attributes = {attribute<&ConvAttributes::strides>(BP_ATTR_strides, at_least(1)),
                                             attribute<&ConvAttributes::pads>(BP_ATTR_pads, at_least(0)),
                                             attribute<&ConvAttributes::dilations>(BP_ATTR_dilations, at_least(1)),
                                             attribute<&ConvAttributes::group>(BP_ATTR_group, at_least(1))},
                              .shape = conv_shape});

}  // namespace backplane::ops
