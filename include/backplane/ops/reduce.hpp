// Descriptions of reductions over axes.
#pragma once

#include "backplane/ops/description.hpp"

namespace backplane::ops {

struct ReduceAttributes {
    List axes = {};        // ascending; empty: all
    bool keepdims = true;  // reduced axes stay as 1
};
// Any order, a negative axis counts from the end.
inline void complete_reduce(const Call& call, void* attributes) {
    List& axes = static_cast<ReduceAttributes*>(attributes)->axes;
    for (int64_t& axis : axes)
        if (axis < 0) axis += call.rank(0);
    std::sort(axes.begin(), axes.end());
}
// What an empty stretch of elements comes to.
enum class OfNothing { a_number, nothing, nothing_for_integers };
template <OfNothing of_nothing>
void reduce_shape(const Call& call, Outputs out) {
    const auto& a = call.as<ReduceAttributes>();
    const Dims& x = call.dims(0);
    uint32_t reduced = a.axes.empty() ? (1U << x.size()) - 1 : 0;
    int64_t last = -1;
    for (const int64_t axis : a.axes) {
        require_attribute(axis >= 0 && axis < int64_t{x.size()},
                          [&] { return "axis " + std::to_string(axis) + " lies outside " + call.text(0); });
        require_attribute(axis != last, [&] { return "an axis is given twice: " + text_of(a.axes); });
        require_attribute(axis > last, [&] { return "attribute axes " + text_of(a.axes) + " must ascend"; });
        reduced |= 1U << axis;
        last = axis;
    }
    bool nothing = false;
    bool some = true;
    Dims& y = out[0].dims;
    y = {};
    for (uint32_t d = 0; d < x.size(); ++d) {
        const bool gone = (reduced >> d & 1U) != 0;
        if (gone && x[d] == 0) nothing = true;
        if (!gone && x[d] == 0) some = false;
        if (!gone) y.push_back(x[d]);
        if (gone && a.keepdims) y.push_back(1);
    }
    const bool whole = (type(call.dtype(0)) & kWhole) != 0;
    const bool impossible = of_nothing == OfNothing::nothing || (of_nothing == OfNothing::nothing_for_integers && whole);
    require(!(nothing && some && impossible), [&] {
        return "an empty axis has no result, " + call.text(0) + " along " + (a.axes.empty() ? "all axes" : text_of(a.axes));
    });
}

constexpr DescriptionOf<ReduceAttributes> reduce(uint32_t id, const char* summary, ShapeRule shape, Types types = kNumbers) {
    return describe<ReduceAttributes>({.id = id,
                                       .summary = summary,
                                       .shapes = "x -> y without the axes, or with 1 in their place",
                                       .inputs = {{"x", one_of(types)}},
                                       .outputs = {{"y", like(0)}},
                                       .attributes = {attribute<&ReduceAttributes::axes>(BP_ATTR_axes),
                                                      attribute<&ReduceAttributes::keepdims>(BP_ATTR_keepdims)},
                                       .shape = shape,
                                       .complete = complete_reduce});
}
inline constexpr auto op_reduce_sum =
    reduce(BP_OP_reduce_sum, "y = sum along axes; of nothing 0", reduce_shape<OfNothing::a_number>);
inline constexpr auto op_reduce_mean =
    reduce(BP_OP_reduce_mean, "y = mean along axes; of nothing NaN; of integers truncated",
           reduce_shape<OfNothing::nothing_for_integers>);
inline constexpr auto op_reduce_max =
    reduce(BP_OP_reduce_max, "y = largest along axes; NaN anywhere gives NaN", reduce_shape<OfNothing::nothing>);
inline constexpr auto op_reduce_min =
    reduce(BP_OP_reduce_min, "y = smallest along axes; NaN anywhere gives NaN", reduce_shape<OfNothing::nothing>);

inline constexpr auto op_reduce_prod =
    reduce(BP_OP_reduce_prod, "y = product along axes; of nothing 1", reduce_shape<OfNothing::a_number>);
inline constexpr auto op_reduce_l1 =
    reduce(BP_OP_reduce_l1, "y = sum of |x| along axes; of nothing 0", reduce_shape<OfNothing::a_number>);
inline constexpr auto op_reduce_l2 = reduce(BP_OP_reduce_l2, "y = square root of the sum of x^2 along axes; of nothing 0",
                                            reduce_shape<OfNothing::a_number>, kFloats);
inline constexpr auto op_reduce_sum_square =
    reduce(BP_OP_reduce_sum_square, "y = sum of x^2 along axes; of nothing 0", reduce_shape<OfNothing::a_number>);
inline constexpr auto op_reduce_log_sum_exp =
    reduce(BP_OP_reduce_log_sum_exp, "y = ln of the sum of e^x along axes, of the largest x at least; of nothing -infinity",
           reduce_shape<OfNothing::a_number>, kFloats);

struct ArgAttributes {
    int64_t axis = 0;
    bool keepdims = true;  // the axis stays as 1
    bool select_last_index = false;
};
inline void arg_shape(const Call& call, Outputs out) {
    const auto& a = call.as<ArgAttributes>();
    const Dims& x = call.dims(0);
    out[0] = {BP_I64, {}};
    Dims& y = out[0].dims;
    for (uint32_t d = 0; d < x.size(); ++d) {
        if (d != a.axis) y.push_back(x[d]);
        if (d == a.axis && a.keepdims) y.push_back(1);
    }
    require(x[static_cast<size_t>(a.axis)] > 0 || is_empty(y),
            [&] { return "an empty axis has no result, " + call.text(0) + " along " + std::to_string(a.axis); });
}
constexpr DescriptionOf<ArgAttributes> arg(uint32_t id, const char* summary) {
    return describe<ArgAttributes>({.id = id,
                                    .summary = summary,
                                    .shapes = "x -> y of i64, x without the axis, or with 1 in its place",
                                    .inputs = {{"x", one_of(kNumbers)}},
                                    .outputs = {{"y", {}}},
                                    .attributes = {attribute<&ArgAttributes::axis>(BP_ATTR_axis, axis_of(0)),
                                                   attribute<&ArgAttributes::keepdims>(BP_ATTR_keepdims),
                                                   attribute<&ArgAttributes::select_last_index>(BP_ATTR_select_last_index)},
                                    .shape = arg_shape});
}
inline constexpr auto op_arg_max =
    arg(BP_OP_arg_max, "y = position of the largest along an axis, of several the first (or last); NaN is larger than all");
inline constexpr auto op_arg_min = arg(
    BP_OP_arg_min, "y = position of the smallest along an axis, of several the first (or last); NaN is smaller than all");

struct TopKAttributes {
    Required<int64_t> k;
    int64_t axis = -1;
    bool largest = true;  // else the smallest
    bool sorted = true;   // what is not asked to be sorted is so all the same
};
inline void top_k_shape(const Call& call, Outputs out) {
    const auto& a = call.as<TopKAttributes>();
    const int64_t extent = call.dims(0)[static_cast<size_t>(a.axis)];
    require(a.k <= extent, [&] {
        return "has no " + std::to_string(a.k.value) + " elements to pick along axis " + std::to_string(a.axis) + " of " +
               call.text(0);
    });
    out[0].dims = call.dims(0);
    out[0].dims[static_cast<size_t>(a.axis)] = a.k;
    out[1] = {BP_I64, out[0].dims};
}
inline constexpr auto op_top_k = describe<TopKAttributes>(
    {.id = BP_OP_top_k,
     .summary = "the k largest or smallest along an axis in order, equal ones by position, and their "
                "positions; NaN comes first",
     .shapes = "x -> values, indices of i64: x with k along the axis",
     .inputs = {{"x", one_of(kNumbers)}},
     .outputs = {{"values", like(0)}, {"indices", {}}},
     .attributes = {attribute<&TopKAttributes::k>(BP_ATTR_k, at_least(0)),
                    attribute<&TopKAttributes::axis>(BP_ATTR_axis, axis_of(0)),
                    attribute<&TopKAttributes::largest>(BP_ATTR_largest),
                    attribute<&TopKAttributes::sorted>(BP_ATTR_sorted)},
     .shape = top_k_shape});

struct CumSumAttributes {
    int64_t axis = 0;
    bool exclusive = false;  // without the element itself
    bool reverse = false;    // from the end
};
inline constexpr auto op_cum_sum =
    describe<CumSumAttributes>({.id = BP_OP_cum_sum,
                                .summary = "y = sum of x along an axis up to each element",
                                .shapes = "x -> y alike",
                                .inputs = {{"x", one_of(kNumbers)}},
                                .outputs = {{"y", like(0)}},
                                .attributes = {attribute<&CumSumAttributes::axis>(BP_ATTR_axis, axis_of(0)),
                                               attribute<&CumSumAttributes::exclusive>(BP_ATTR_exclusive),
                                               attribute<&CumSumAttributes::reverse>(BP_ATTR_reverse)},
                                .shape = same_shape});

}  // namespace backplane::ops
