// Descriptions of ops whose indices pick elements one by one.
#pragma once

#include "backplane/ops/description.hpp"

namespace backplane::ops {

// ---- GatherElements ---------------------------------------------------------------------------------------------------------

struct GatherElementsAttributes {
    int64_t axis = 0;
};
inline void gather_elements_shape(const Call& call, Outputs out) {
    const auto axis = static_cast<uint32_t>(call.as<GatherElementsAttributes>().axis);
    const Dims& x = call.dims(0);
    const Dims& y = call.dims(1);
    bool fits = x.size() == y.size();
    for (uint32_t d = 0; fits && d < x.size(); ++d) fits = d == axis || y[d] <= x[d];
    require(fits, [&] {
        return call.text(1) + " does not fit " + call.text(0) + ": it has the same rank, and is no longer but along axis " +
               std::to_string(axis);
    });
    require_something_along(call, axis, y);
    out[0].dims = y;
}
inline constexpr auto op_gather_elements = describe<GatherElementsAttributes>(
    {.id = BP_OP_gather_elements,
     .summary = "elements along an axis, each picked by an integer of its own",
     .shapes = "x, indices -> y of indices' shape, which is no longer than x but along axis",
     .inputs = {{"x", one_of(kPlain)}, {"indices", one_of(kWhole)}},
     .outputs = {{"y", like(0)}},
     .moves = true,
     .attributes = {attribute<&GatherElementsAttributes::axis>(BP_ATTR_axis, axis_of(0))},
     .shape = gather_elements_shape});

// ---- OneHot -----------------------------------------------------------------------------------------------------------------

struct OneHotAttributes {
    Required<int64_t> depth;
    int64_t axis = -1;  // of the result
};
inline void complete_one_hot(const Call& call, void* attributes) {
    int64_t& axis = static_cast<OneHotAttributes*>(attributes)->axis;
    if (axis < 0) axis += call.rank(0) + 1;
}
inline void one_hot_shape(const Call& call, Outputs out) {
    const auto& a = call.as<OneHotAttributes>();
    const Dims& indices = call.dims(0);
    require(indices.size() < BP_MAX_RANK, [&] { return "the result of " + call.text(0) + " has a rank over 8"; });
    require_attribute(a.axis >= 0 && a.axis <= int64_t{indices.size()}, [&] {
        return "axis " + std::to_string(a.axis) + " lies outside the result of " + call.text(0) + ", which has an axis more";
    });
    require(call.rank(1) == 1 && call.dims(1)[0] == 2, [&] { return call.text(1) + " must be [2]: off and on"; });
    Dims& y = out[0].dims;
    y = {};
    for (uint32_t d = 0; d <= indices.size(); ++d) {
        if (d == a.axis) y.push_back(a.depth);
        if (d < indices.size()) y.push_back(indices[d]);
    }
    static_cast<void>(elements_of(call, {y.begin(), y.end()}));
}
inline constexpr auto op_one_hot = describe<OneHotAttributes>(
    {.id = BP_OP_one_hot,
     .summary = "values[1] at the position that each index says, negative ones counted from the end, values[0] elsewhere",
     .shapes = "indices, values[2] -> y: the axes of indices and, as axis, one of depth",
     .inputs = {{"indices", one_of(kWhole)}, {"values", one_of(kPlain)}},
     .outputs = {{"y", like(1)}},
     .moves = true,
     .attributes = {attribute<&OneHotAttributes::depth>(BP_ATTR_depth, at_least(0)),
                    attribute<&OneHotAttributes::axis>(BP_ATTR_axis, between(-BP_MAX_RANK, BP_MAX_RANK - 1))},
     .shape = one_hot_shape,
     .complete = complete_one_hot});

// ---- ScatterND --------------------------------------------------------------------------------------------------------------

enum class Reduction : int64_t {
    none = BP_REDUCTION_NONE,  // the update stays
    add = BP_REDUCTION_ADD,
    mul = BP_REDUCTION_MUL,
    max = BP_REDUCTION_MAX,
    min = BP_REDUCTION_MIN
};
// The op of what is there and of an update.
constexpr uint32_t op_of(Reduction reduction) {
    switch (reduction) {
        case Reduction::add: return BP_OP_add;
        case Reduction::mul: return BP_OP_mul;
        case Reduction::max: return BP_OP_max;
        case Reduction::min: return BP_OP_min;
        default: return BP_OP_unknown;
    }
}
struct ScatterNDAttributes {
    Reduction reduction = Reduction::none;
};
inline void scatter_nd_shape(const Call& call, Outputs out) {
    require(call.as<ScatterNDAttributes>().reduction == Reduction::none || (type(call.dtype(0)) & kNumbers) != 0,
            BP_WHY_DTYPE, [&] { return "reduces " + names_of(kNumbers) + ", not " + call.typed_text(0); });
    const Dims& data = call.dims(0);
    const Dims& indices = call.dims(1);
    require(!indices.empty() && indices.back() <= int64_t{data.size()}, [&] {
        return call.text(1) + " must name axes of " + call.text(0) + " along its last axis, " + std::to_string(data.size()) +
               " at most";
    });
    Few<int64_t, 2 * BP_MAX_RANK> wanted;
    for (uint32_t d = 0; d + 1 < indices.size(); ++d) wanted.push_back(indices[d]);
    for (auto d = static_cast<uint32_t>(indices.back()); d < data.size(); ++d) wanted.push_back(data[d]);
    const Dims& updates = call.dims(2);
    require(std::equal(updates.begin(), updates.end(), wanted.begin(), wanted.end()),
            [&] { return call.text(2) + " must be " + text_of(wanted) + " for " + call.text(0) + " and " + call.text(1); });
    require(!is_empty(data) || is_empty(updates),
            [&] { return "there is no place in " + call.text(0) + " for " + call.text(2); });
    out[0].dims = data;
}
inline constexpr auto op_scatter_nd = describe<ScatterNDAttributes>(
    {.id = BP_OP_scatter_nd,
     .summary = "a tensor with slices put in where indices say; of those put in at one place one stays, or with a reduction "
                "all count, in order",
     .shapes = "data, indices[..., q], updates[..., the axes of data behind the first q] -> y of data's shape",
     .inputs = {{"data", one_of(kPlain)}, {"indices", one_of(kWhole)}, {"updates", like(0)}},
     .outputs = {{"y", like(0)}},
     .moves = true,
     .attributes = {attribute<&ScatterNDAttributes::reduction>(BP_ATTR_reduction,
                                                               between(BP_REDUCTION_NONE, BP_REDUCTION_MIN))},
     .shape = scatter_nd_shape});

// ---- GridSample -------------------------------------------------------------------------------------------------------------

enum class SampleMode : int64_t { linear = BP_SAMPLE_LINEAR, nearest = BP_SAMPLE_NEAREST, cubic = BP_SAMPLE_CUBIC };
enum class SamplePadding : int64_t {
    zeros = BP_SAMPLE_ZEROS,
    border = BP_SAMPLE_BORDER,         // the edge goes on
    reflection = BP_SAMPLE_REFLECTION  // x goes on backwards
};
struct GridSampleAttributes {
    SampleMode mode = SampleMode::linear;
    SamplePadding padding_mode = SamplePadding::zeros;
    bool align_corners = false;  // -1 and 1 are the middles of the first and last elements; otherwise their outer edges
};
inline void grid_sample_shape(const Call& call, Outputs out) {
    const Dims& x = call.dims(0);
    const Dims& grid = call.dims(1);
    require(x.size() >= 3 && x.size() <= 5,
            [&] { return call.text(0) + " must have rank 3 to 5: one to three spatial axes"; });
    require_rank(call, 1, x.size());
    require(grid[0] == x[0] && grid.back() == int64_t{x.size()} - 2, [&] {
        return call.text(1) + " must be [" + std::to_string(x[0]) + ", ..., " + std::to_string(x.size() - 2) + "] for " +
               call.text(0);
    });
    Dims& y = out[0].dims;
    y = {x[0], x[1]};
    for (uint32_t d = 1; d + 1 < grid.size(); ++d) y.push_back(grid[d]);
    require(!is_empty(x) || is_empty(y), [&] { return call.text(0) + " is empty and cannot become " + text_of(y); });
    static_cast<void>(elements_of(call, {y.begin(), y.end()}));
}
inline constexpr auto op_grid_sample = describe<GridSampleAttributes>(
    {.id = BP_OP_grid_sample,
     .summary = "elements of maps at the places that a grid names, last axis first, from -1 to 1; NaN is taken for -1; "
                "cubic with the coefficient -0.75",
     .shapes = "x[N, C, H, W], grid[N, H', W', 2] -> y[N, C, H', W']; one and three axes alike",
     .inputs = {{"x", one_of(kFloats)}, {"grid", like(0)}},
     .outputs = {{"y", like(0)}},
     .attributes = {attribute<&GridSampleAttributes::mode>(BP_ATTR_mode, between(BP_SAMPLE_LINEAR, BP_SAMPLE_CUBIC)),
                    attribute<&GridSampleAttributes::padding_mode>(BP_ATTR_padding_mode,
                                                                   between(BP_SAMPLE_ZEROS, BP_SAMPLE_REFLECTION)),
                    attribute<&GridSampleAttributes::align_corners>(BP_ATTR_align_corners)},
     .shape = grid_sample_shape});

// ---- RoiAlign ---------------------------------------------------------------------------------------------------------------

enum class RoiMode : int64_t { average = BP_ROI_AVERAGE, max = BP_ROI_MAX };
enum class RoiCoordinates : int64_t {
    asymmetric = BP_COORDINATES_ASYMMETRIC,  // the middle of element i is at i; regions have a pixel a side at least
    half_pixel = BP_COORDINATES_HALF_PIXEL   // it is at i + 0.5
};
struct RoiAlignAttributes {
    Required<List> sizes;  // H', W'
    RoiMode mode = RoiMode::average;
    int64_t sampling_ratio = 0;  // places along each side of a part; 0: one a pixel
    double scale = 1;            // of x's pixels to those that regions are in
    RoiCoordinates coordinates = RoiCoordinates::asymmetric;
};
inline void roi_align_shape(const Call& call, Outputs out) {
    const List& sizes = call.as<RoiAlignAttributes>().sizes;
    require_rank(call, 0, 4);
    require_rank(call, 1, 2);
    require_rank(call, 2, 1);
    require(call.dims(1)[1] == 4 && call.dims(2)[0] == call.dims(1)[0], [&] {
        return call.text(1) + " and " + call.text(2) + " must be [R, 4] and [R]: corners of regions, and whose they are";
    });
    require_attribute(sizes.size() == 2,
                      [&] { return "attribute sizes has " + std::to_string(sizes.size()) + " numbers, needs 2"; });
    Dims& y = out[0].dims;
    y = {call.dims(1)[0], call.dims(0)[1], sizes[0], sizes[1]};
    static_cast<void>(elements_of(call, {y.begin(), y.end()}));
}
inline constexpr auto op_roi_align = describe<RoiAlignAttributes>(
    {.id = BP_OP_roi_align,
     .summary =
         "regions of maps, each cut into parts, and of each part the mean, or the largest weighed element, of elements "
         "between pixels; places beside the map by more than a pixel are zeros, as are regions of no batch",
     .shapes = "x[N, C, H, W], rois[R, 4] (x1, y1, x2, y2), batch_indices[R] -> y[R, C, H', W']",
     .inputs = {{"x", one_of(kFloats)}, {"rois", like(0)}, {"batch_indices", one_of(kWhole)}},
     .outputs = {{"y", like(0)}},
     .attributes = {attribute<&RoiAlignAttributes::sizes>(BP_ATTR_sizes, at_least(0)),
                    attribute<&RoiAlignAttributes::mode>(BP_ATTR_mode, between(BP_ROI_AVERAGE, BP_ROI_MAX)),
                    attribute<&RoiAlignAttributes::sampling_ratio>(BP_ATTR_sampling_ratio, between(0, 1024)),
                    attribute<&RoiAlignAttributes::scale>(BP_ATTR_scale),
                    attribute<&RoiAlignAttributes::coordinates>(
                        BP_ATTR_coordinates, between(BP_COORDINATES_ASYMMETRIC, BP_COORDINATES_HALF_PIXEL))},
     .shape = roi_align_shape});

}  // namespace backplane::ops
