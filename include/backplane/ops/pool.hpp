// Descriptions of pooling.
#pragma once

#include "backplane/ops/conv.hpp"

namespace backplane::ops {

struct PoolAttributes {
    Required<List> kernel_shape;     // of each spatial axis
    List strides = {};               // one for each spatial axis; empty: 1
    List pads = {};                  // of all axes their beginnings, then of all their ends; empty: 0
    List dilations = {};             // one for each spatial axis; empty: 1
    bool ceil_mode = false;          // a last window that is not whole counts, unless it begins in the padding behind
    bool count_include_pad = false;  // of averages: padding counts as zeros
    bool storage_order =
        false;  // of positions: counted with the first spatial axis as the innermost, the last as the outermost

    [[nodiscard]] PoolAttributes filled(uint32_t axes) const { return filled_for(*this, axes); }
};
inline void complete_pool(const Call& call, void* attributes) {
    auto& a = *static_cast<PoolAttributes*>(attributes);
    a = a.filled(std::min<uint32_t>(spatial_axes(call.rank(0)), 3));
}

// Windows along a spatial axis. `a` is filled.
inline int64_t windows_along(const Call& call, const PoolAttributes& a, uint32_t axis) {
    const int64_t before = a.pads[axis];
    const int64_t extent = call.dims(0)[2 + axis];
    const int64_t padded = checked_add(call, extent, before + a.pads[spatial_axes(call.rank(0)) + axis]);
    const int64_t reach = checked_add(call, checked_mul(call, a.kernel_shape.value[axis] - 1, a.dilations[axis]), 1);
    require(reach <= padded, [&] {
        return "a window of " + text_of(a.kernel_shape.value) + " reaches over " + std::to_string(reach) + " of the " +
               std::to_string(padded) + " padded elements of axis " + std::to_string(2 + axis) + ", " + call.text(0);
    });
    const int64_t whole = (padded - reach) / a.strides[axis] + 1;
    const bool more = a.ceil_mode && (padded - reach) % a.strides[axis] != 0 && whole * a.strides[axis] < extent + before;
    return whole + (more ? 1 : 0);
}

inline void pool_shape(const Call& call, Outputs out) {
    require(call.rank(0) >= 3 && call.rank(0) <= 5, [&] { return call.text(0) + " must have rank 3, 4 or 5"; });
    const uint32_t axes = spatial_axes(call.rank(0));
    const PoolAttributes a = call.as<PoolAttributes>().filled(axes);
    require_numbers(call, BP_ATTR_kernel_shape, a.kernel_shape.value, axes);
    require_numbers(call, BP_ATTR_strides, a.strides, axes);
    require_numbers(call, BP_ATTR_pads, a.pads, 2 * axes);
    require_numbers(call, BP_ATTR_dilations, a.dilations, axes);
    out[0].dims = {call.dims(0)[0], call.dims(0)[1]};
    for (uint32_t axis = 0; axis < axes; ++axis) out[0].dims.push_back(windows_along(call, a, axis));
}

constexpr DescriptionOf<PoolAttributes> pool(uint32_t id, const char* summary, bool average) {
    Description description{.id = id,
                            .summary = summary,
                            .shapes =
                                "x[N, C, H, W] -> y[N, C, H', W']; x[N, C, W] and x[N, C, D, H, W] alike; left out, strides "
                                "and dilations are 1 and pads 0",
                            .inputs = {{"x", one_of(kFloats)}},
                            .outputs = {{"y", like(0)}},
                            .attributes = {attribute<&PoolAttributes::kernel_shape>(BP_ATTR_kernel_shape, at_least(1)),
                                           attribute<&PoolAttributes::strides>(BP_ATTR_strides, at_least(1)),
                                           attribute<&PoolAttributes::pads>(BP_ATTR_pads, at_least(0)),
                                           attribute<&PoolAttributes::dilations>(BP_ATTR_dilations, at_least(1)),
                                           attribute<&PoolAttributes::ceil_mode>(BP_ATTR_ceil_mode)},
                            .shape = pool_shape,
                            .complete = complete_pool};
    if (average) description.attributes.push_back(attribute<&PoolAttributes::count_include_pad>(BP_ATTR_count_include_pad));
    return describe<PoolAttributes>(description);
}
inline constexpr auto op_max_pool =
    pool(BP_OP_max_pool, "largest element of each window; NaN anywhere gives NaN; of padding alone -infinity", false);
inline constexpr auto op_average_pool =
    pool(BP_OP_average_pool, "mean of the elements of each window, or with its padding as zeros; of none NaN", true);

inline void max_pool_indices_shape(const Call& call, Outputs out) {
    pool_shape(call, out);
    out[0].dtype = BP_I64;
}
inline constexpr auto op_max_pool_indices = [] {
    Description description =
        pool(BP_OP_max_pool_indices,
             "where among all elements of x the largest of each window lies, of several the first, of NaN "
             "the first; of padding alone -1",
             false);
    description.shapes = "x[N, C, H, W] -> y[N, C, H', W'] of i64; otherwise as MaxPool";
    description.outputs = {{"y", {}}};
    description.attributes.push_back(attribute<&PoolAttributes::storage_order>(BP_ATTR_storage_order));
    description.shape = max_pool_indices_shape;
    return describe<PoolAttributes>(description);
}();

inline void global_pool_shape(const Call& call, Outputs out) {
    require(call.rank(0) >= 3, [&] { return call.text(0) + " must have a batch, a channel and a spatial axis"; });
    out[0].dims = {call.dims(0)[0], call.dims(0)[1]};
    while (out[0].dims.size() < call.rank(0)) out[0].dims.push_back(1);
}
inline constexpr auto op_global_average_pool = describe<None>({.id = BP_OP_global_average_pool,
                                                               .summary = "mean of each map; of nothing NaN",
                                                               .shapes = "x[N, C, ...] -> y[N, C, 1, ...]",
                                                               .inputs = {{"x", one_of(kFloats)}},
                                                               .outputs = {{"y", like(0)}},
                                                               .shape = global_pool_shape});

}  // namespace backplane::ops
