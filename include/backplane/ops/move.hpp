// Descriptions of ops that move, pick or convert elements.
#pragma once

#include "backplane/ops/description.hpp"

namespace backplane::ops {

// ---- Concat -----------------------------------------------------------------------------------------------------------------

struct ConcatAttributes {
    Required<int64_t> axis;
};
inline void concat_shape(const Call& call, Outputs out) {
    const auto along = static_cast<size_t>(call.as<ConcatAttributes>().axis.value);
    Dims& y = out[0].dims;
    y = call.dims(0);
    for (size_t i = 1; i < call.inputs.size(); ++i) {
        Dims other = call.dims(i);
        const bool same_rank = other.size() == y.size();
        const int64_t extent = same_rank ? other[along] : 0;
        if (same_rank) other[along] = y[along];
        require(same_rank && other == y, [&] {
            return "input " + std::to_string(i) + " " + text_of(call.dims(i)) + " differs from input 0 " +
                   text_of(call.dims(0)) + " in more than axis " + std::to_string(along);
        });
        y[along] = checked_add(call, y[along], extent);
    }
}
inline constexpr auto op_concat =
    describe<ConcatAttributes>({.id = BP_OP_concat,
                                .summary = "tensors one after the other along an axis",
                                .shapes = "x0, x1, ... alike but along axis -> y",
                                .inputs = {{"x", one_of(kPlain)}},
                                .outputs = {{"y", like(0)}},
                                .any_inputs = true,
                                .moves = true,
                                .attributes = {attribute<&ConcatAttributes::axis>(BP_ATTR_axis, axis_of(0))},
                                .shape = concat_shape});

// ---- Slice ------------------------------------------------------------------------------------------------------------------

struct SliceAttributes {
    Required<List> starts, ends;  // for each axis
    List steps = {};              // for each axis; empty: 1
};
// Negative bounds count from the end; then both are clamped to the axis.
inline void complete_slice(const Call& call, void* attributes) {
    auto& a = *static_cast<SliceAttributes*>(attributes);
    const Dims& x = call.dims(0);
    if (a.starts.value.size() == x.size() && a.ends.value.size() == x.size()) {
        for (uint32_t d = 0; d < x.size(); ++d) {
            int64_t& start = a.starts.value[d];
            int64_t& end = a.ends.value[d];
            start = std::clamp<int64_t>(start < 0 ? start + x[d] : start, 0, x[d]);
            end = std::clamp<int64_t>(end < 0 ? end + x[d] : end, start, x[d]);
        }
    }
    if (a.steps.empty())
        for (uint32_t d = 0; d < x.size(); ++d) a.steps.push_back(1);
}
inline void slice_shape(const Call& call, Outputs out) {
    const auto& a = call.as<SliceAttributes>();
    const Dims& x = call.dims(0);
    require_numbers(call, BP_ATTR_starts, a.starts.value, x.size());
    require_numbers(call, BP_ATTR_ends, a.ends.value, x.size());
    if (!a.steps.empty()) require_numbers(call, BP_ATTR_steps, a.steps, x.size());
    out[0].dims = {};
    for (uint32_t d = 0; d < x.size(); ++d) {
        const int64_t start = a.starts.value[d];
        const int64_t end = a.ends.value[d];
        require_attribute(start >= 0 && start <= end && end <= x[d], [&] {
            return "elements " + std::to_string(start) + " to " + std::to_string(end) + " of axis " + std::to_string(d) +
                   " reach outside " + call.text(0);
        });
        const int64_t step = a.steps.empty() ? 1 : a.steps[d];
        out[0].dims.push_back((end - start) / step + ((end - start) % step != 0 ? 1 : 0));
    }
}
inline constexpr auto op_slice =
    describe<SliceAttributes>({.id = BP_OP_slice,
                               .summary = "every n-th element between two bounds, along each axis",
                               .shapes = "x -> y[d] = ceil((ends[d] - starts[d]) / steps[d])",
                               .inputs = {{"x", one_of(kPlain)}},
                               .outputs = {{"y", like(0)}},
                               .moves = true,
                               .attributes = {attribute<&SliceAttributes::starts>(BP_ATTR_starts, kAny),
                                              attribute<&SliceAttributes::ends>(BP_ATTR_ends, kAny),
                                              attribute<&SliceAttributes::steps>(BP_ATTR_steps, between(1, INT64_MAX))},
                               .shape = slice_shape,
                               .complete = complete_slice});

// ---- DynamicSlice -----------------------------------------------------------------------------------------------------------

struct DynamicSliceAttributes {
    Required<List> sizes;  // of the result, for each of axes
    List axes = {};        // ascending; empty: the first ones
    List steps = {};       // for each of axes; empty: 1
};
inline void complete_dynamic_slice(const Call& call, void* attributes) {
    auto& a = *static_cast<DynamicSliceAttributes*>(attributes);
    for (int64_t& axis : a.axes)
        if (axis < 0) axis += call.rank(0);
    for (uint32_t i = a.axes.size(); i < a.sizes.value.size(); ++i) a.axes.push_back(i);
    for (uint32_t i = a.steps.size(); i < a.sizes.value.size(); ++i) a.steps.push_back(1);
}
inline void dynamic_slice_shape(const Call& call, Outputs out) {
    const auto& a = call.as<DynamicSliceAttributes>();
    const uint32_t count = a.sizes.value.size();
    require_numbers(call, BP_ATTR_axes, a.axes, count);
    require_numbers(call, BP_ATTR_steps, a.steps, count);
    out[0].dims = call.dims(0);
    for (uint32_t i = 0; i < count; ++i) {
        require_attribute(a.axes[i] < int64_t{call.rank(0)} && (i == 0 || a.axes[i] > a.axes[i - 1]), [&] {
            return "attribute axes " + text_of(a.axes) + " must name axes of " + call.text(0) + ", ascending";
        });
        out[0].dims[static_cast<size_t>(a.axes[i])] = a.sizes.value[i];
    }
    for (uint32_t k = 1; k < 3; ++k)
        require(!call.has(k) || call.dims(k) == Dims{int64_t{count}},
                [&] { return call.text(k) + " must have a number for each of the axes " + text_of(a.axes); });
    static_cast<void>(elements_of(call, {out[0].dims.begin(), out[0].dims.end()}));
}
inline constexpr auto op_dynamic_slice = describe<DynamicSliceAttributes>(
    {.id = BP_OP_dynamic_slice,
     .summary = "every n-th element between two bounds that are read when it runs",
     .shapes =
         "x, starts[k], ends[k] -> y: x with sizes[i] along axes[i]; negative bounds count from the end, all are clamped to "
         "the axis, and what lies behind ends is 0",
     .inputs = {{"x", one_of(kPlain)}, {"starts", one_of(kWhole)}, {"ends", like(1), true}},
     .outputs = {{"y", like(0)}},
     .moves = true,
     .attributes = {attribute<&DynamicSliceAttributes::sizes>(BP_ATTR_sizes, at_least(0)),
                    attribute<&DynamicSliceAttributes::axes>(BP_ATTR_axes, at_least(0)),
                    attribute<&DynamicSliceAttributes::steps>(BP_ATTR_steps, between(1, INT64_MAX))},
     .shape = dynamic_slice_shape,
     .complete = complete_dynamic_slice});

// ---- Split ------------------------------------------------------------------------------------------------------------------

struct SplitAttributes {
    int64_t axis = 0;
    Required<List> sizes;  // of the parts along the axis
};
inline uint32_t split_outputs(const Call& call) { return call.as<SplitAttributes>().sizes.value.size(); }
inline void split_shape(const Call& call, Outputs out) {
    const auto& a = call.as<SplitAttributes>();
    const auto axis = static_cast<uint32_t>(a.axis);
    const Dims& x = call.dims(0);
    require_attribute(!out.empty(), [] { return std::string("needs one part or more in the attribute sizes"); });
    int64_t sum = 0;
    for (const int64_t size : a.sizes.value) sum = checked_add(call, sum, size);
    require_attribute(sum == x[axis], [&] {
        return "parts of " + text_of(a.sizes.value) + " are " + std::to_string(sum) + " in all, axis " +
               std::to_string(axis) + " of " + call.text(0) + " is " + std::to_string(x[axis]);
    });
    for (uint32_t i = 0; i < out.size(); ++i) {
        out[i].dims = x;
        out[i].dims[axis] = a.sizes.value[i];
    }
}
inline constexpr auto op_split =
    describe<SplitAttributes>({.id = BP_OP_split,
                               .summary = "a tensor in parts, along one axis",
                               .shapes = "x -> y0, y1, ...: x with sizes[i] along the axis",
                               .inputs = {{"x", one_of(kPlain)}},
                               .outputs = {{"y", like(0)}},
                               .moves = true,
                               .attributes = {attribute<&SplitAttributes::axis>(BP_ATTR_axis, axis_of(0)),
                                              attribute<&SplitAttributes::sizes>(BP_ATTR_sizes, at_least(0))},
                               .shape = split_shape,
                               .output_count = split_outputs});

// ---- Pad --------------------------------------------------------------------------------------------------------------------

enum class PadMode : int64_t { constant = BP_PAD_CONSTANT, edge = BP_PAD_EDGE, reflect = BP_PAD_REFLECT };
struct PadAttributes {
    Required<List> pads;  // before each axis, then after each
    PadMode mode = PadMode::constant;
    double value = 0;
};
inline void pad_shape(const Call& call, Outputs out) {
    const auto& a = call.as<PadAttributes>();
    const List& pads = a.pads.value;
    const Dims& x = call.dims(0);
    require_numbers(call, BP_ATTR_pads, pads, 2 * x.size());
    out[0].dims = {};
    for (uint32_t d = 0; d < x.size(); ++d) {
        const int64_t most = std::max(pads[d], pads[x.size() + d]);
        const auto axis = [&] { return "axis " + std::to_string(d) + " of " + call.text(0); };
        require(a.mode != PadMode::edge || most == 0 || x[d] > 0,
                [&] { return axis() + " is empty and has no edge to repeat"; });
        require(a.mode != PadMode::reflect || most == 0 || most < x[d],
                [&] { return axis() + " is too short to reflect " + std::to_string(most) + " elements"; });
        out[0].dims.push_back(checked_add(call, x[d], pads[d] + pads[x.size() + d]));
    }
}
inline constexpr auto op_pad = describe<PadAttributes>(
    {.id = BP_OP_pad,
     .summary = "elements added around a tensor",
     .shapes = "x -> y[d] = pads[d] + x[d] + pads[r + d]",
     .inputs = {{"x", one_of(kPlain)}},
     .outputs = {{"y", like(0)}},
     .moves = true,
     .attributes = {attribute<&PadAttributes::pads>(BP_ATTR_pads, at_least(0)),
                    attribute<&PadAttributes::mode>(BP_ATTR_mode, between(BP_PAD_CONSTANT, BP_PAD_REFLECT)),
                    attribute<&PadAttributes::value>(BP_ATTR_value)},
     .shape = pad_shape});

// ---- Reshape ----------------------------------------------------------------------------------------------------------------

struct ReshapeAttributes {
    Required<List> shape;
};
// One -1 is what the number of elements leaves.
inline void complete_reshape(const Call& call, void* attributes) {
    List& shape = static_cast<ReshapeAttributes*>(attributes)->shape.value;
    int64_t* const open = std::find(shape.begin(), shape.end(), -1);
    if (open == shape.end()) return;
    const List given = shape;
    *open = 1;
    require(std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent > 0; }),
            [&] { return "attribute shape " + text_of(given) + " leaves the -1 open for " + call.text(0); });
    const int64_t rest = elements_of(call, {shape.begin(), shape.end()});
    const int64_t all = elements_of(call, {call.dims(0).begin(), call.dims(0).end()});
    require(all % rest == 0, [&] { return call.text(0) + " does not divide into " + text_of(given); });
    *open = all / rest;
}
inline void reshape_shape(const Call& call, Outputs out) {
    const List& shape = call.as<ReshapeAttributes>().shape.value;
    require_attribute(shape.size() <= BP_MAX_RANK,
                      [&] { return "attribute shape has rank " + std::to_string(shape.size()) + ", 8 at most"; });
    const int64_t before = elements_of(call, {call.dims(0).begin(), call.dims(0).end()});
    const int64_t after = elements_of(call, {shape.begin(), shape.end()});
    require(before == after, [&] {
        return call.text(0) + " has " + std::to_string(before) + " elements, " + text_of(shape) + " has " +
               std::to_string(after);
    });
    out[0].dims = {};
    for (const int64_t extent : shape) out[0].dims.push_back(extent);
}
inline constexpr auto op_reshape = describe<ReshapeAttributes>(
    {.id = BP_OP_reshape,
     .summary = "the same elements under another shape",
     .shapes = "x -> y of the attribute's shape; an extent of 0 is 0",
     .inputs = {{"x", one_of(kPlain)}},
     .outputs = {{"y", like(0)}},
     .moves = true,
     .attributes = {attribute<&ReshapeAttributes::shape>(BP_ATTR_shape, between(0, kLargestExtent))},
     .shape = reshape_shape,
     .complete = complete_reshape});

// ---- Transpose --------------------------------------------------------------------------------------------------------------

struct TransposeAttributes {
    List perm = {};  // empty: reversed
};
inline void complete_transpose(const Call& call, void* attributes) {
    List& perm = static_cast<TransposeAttributes*>(attributes)->perm;
    if (perm.empty())
        for (int64_t d = call.rank(0); d-- > 0;) perm.push_back(d);
    for (int64_t& axis : perm)
        if (axis < 0) axis += call.rank(0);
}
inline void transpose_shape(const Call& call, Outputs out) {
    List perm = call.as<TransposeAttributes>().perm;
    const Dims& x = call.dims(0);
    if (perm.empty())
        for (int64_t d = x.size(); d-- > 0;) perm.push_back(d);
    require_numbers(call, BP_ATTR_perm, perm, x.size());
    uint32_t seen = 0;
    out[0].dims = {};
    for (const int64_t axis : perm) {
        require_attribute(axis >= 0 && axis < int64_t{x.size()},
                          [&] { return "axis " + std::to_string(axis) + " lies outside " + call.text(0); });
        require_attribute((seen >> axis & 1U) == 0, [&] {
            return "attribute perm " + text_of(perm) + " names axis " + std::to_string(axis) + " twice";
        });
        seen |= 1U << axis;
        out[0].dims.push_back(x[static_cast<size_t>(axis)]);
    }
}
inline constexpr auto op_transpose =
    describe<TransposeAttributes>({.id = BP_OP_transpose,
                                   .summary = "axes in another order",
                                   .shapes = "x -> y[d] = x[perm[d]]",
                                   .inputs = {{"x", one_of(kPlain)}},
                                   .outputs = {{"y", like(0)}},
                                   .moves = true,
                                   .attributes = {attribute<&TransposeAttributes::perm>(BP_ATTR_perm)},
                                   .shape = transpose_shape,
                                   .complete = complete_transpose});

// ---- Gather -----------------------------------------------------------------------------------------------------------------

struct GatherAttributes {
    int64_t axis = 0;
};
inline void gather_shape(const Call& call, Outputs out) {
    const auto axis = static_cast<uint32_t>(call.as<GatherAttributes>().axis);
    const Dims& x = call.dims(0);
    require(x.size() - 1 + call.rank(1) <= BP_MAX_RANK,
            [&] { return "the result of " + call.text(0) + " and " + call.text(1) + " has a rank over 8"; });
    const bool blocks = (type(call.dtype(0)) & kBlocks) != 0;
    require_attribute(!blocks || axis + 1 < x.size(),
                      [&] { return "cannot pick along the last axis of " + call.typed_text(0) + ": its blocks run there"; });
    if (blocks) out[0].dtype = BP_F32;
    Dims& y = out[0].dims;
    y = {};
    for (uint32_t d = 0; d < axis; ++d) y.push_back(x[d]);
    for (const int64_t n : call.dims(1)) y.push_back(n);
    for (uint32_t d = axis + 1; d < x.size(); ++d) y.push_back(x[d]);
    require_something_along(call, axis, y);
}
inline constexpr auto op_gather = describe<GatherAttributes>(
    {.id = BP_OP_gather,
     .summary = "slices along an axis, picked by integers",
     .shapes = "x, indices -> y: the axis of x replaced by the axes of indices; blocks become f32",
     .inputs = {{"x", one_of(kPlain | kBlocks)}, {"indices", one_of(kWhole)}},
     .outputs = {{"y", like(0)}},
     .moves = true,
     .attributes = {attribute<&GatherAttributes::axis>(BP_ATTR_axis, axis_of(0))},
     .shape = gather_shape});

// ---- TensorScatter ----------------------------------------------------------------------------------------------------------

enum class ScatterMode : int64_t { linear = BP_SCATTER_LINEAR, circular = BP_SCATTER_CIRCULAR };
struct TensorScatterAttributes {
    int64_t axis = -2;  // that positions count on; not the first
    ScatterMode mode = ScatterMode::linear;
};
inline void tensor_scatter_shape(const Call& call, Outputs out) {
    const auto axis = static_cast<uint32_t>(call.as<TensorScatterAttributes>().axis);
    const Dims& cache = call.dims(0);
    const Dims& update = call.dims(1);
    require_attribute(axis != 0, [] { return std::string("axis 0 is the batch: positions count on another one"); });
    require_attribute(call.dtype(0) != BP_Q8_0 || axis + 1 < cache.size(), [&] {
        return call.typed_text(0) + " has blocks along its last axis: positions count on another one";
    });
    Dims rows = cache;
    if (update.size() == cache.size()) rows[axis] = update[axis];
    require(rows == update && update[axis] <= cache[axis], [&] {
        return call.text(1) + " does not fit " + call.text(0) + ": they are alike but along axis " + std::to_string(axis) +
               ", where the update is no longer";
    });
    require(!call.has(2) || (call.rank(2) == 1 && call.dims(2)[0] == cache[0]), [&] {
        return call.text(2) + " must have one position for each of the " + std::to_string(cache[0]) + " in " + call.text(0);
    });
    out[0].dims = cache;
}
inline constexpr auto op_tensor_scatter = describe<TensorScatterAttributes>(
    {.id = BP_OP_tensor_scatter,
     .summary = "a cache with rows of an update put in at a position, in place where the cache is a state",
     .shapes =
         "cache[N, ...], update alike but along axis, positions[N]? -> y of cache's shape: row p + i along axis is row i of "
         "update, p of 0 without positions; rows outside are dropped, or wrap in circular mode. Into q8_0 numbers go in "
         "blocks "
         "of 32, the largest of which becomes 127 or -127",
     .inputs = {{"cache", one_of(kPlain | type(BP_Q8_0))},
                {"update", like(0, type(BP_F32) | kHalves, type(BP_Q8_0))},
                {"positions", one_of(kWhole), true}},
     .outputs = {{"y", like(0)}},
     .moves = true,
     .into_first = true,
     .attributes = {attribute<&TensorScatterAttributes::axis>(BP_ATTR_axis, axis_of(0)),
                    attribute<&TensorScatterAttributes::mode>(BP_ATTR_mode,
                                                              between(BP_SCATTER_LINEAR, BP_SCATTER_CIRCULAR))},
     .shape = tensor_scatter_shape});

// ---- Cast -------------------------------------------------------------------------------------------------------------------

struct CastAttributes {
    Required<int64_t> to;  // BP_F32 ...
};
inline void cast_shape(const Call& call, Outputs out) {
    const int64_t number = call.as<CastAttributes>().to.value;
    const auto to = static_cast<uint32_t>(number);
    require_attribute(number >= 0 && number < 32 && (type(to) & (kPlain | kBlocks)) != 0,
                      [&] { return "attribute to is no element type: " + std::to_string(number); });
    require((type(to) & kBlocks) == 0, BP_WHY_DTYPE, [&] { return std::string("does not encode to ") + type_name(to); });
    require((type(call.dtype(0)) & kBlocks) == 0 || (type(to) & kFloats) != 0, BP_WHY_DTYPE,
            [&] { return call.typed_text(0) + " decodes to a float type only, not " + type_name(to); });
    out[0] = {to, call.dims(0)};
}
inline constexpr auto op_cast = describe<CastAttributes>({.id = BP_OP_cast,
                                                          .summary = "the same values as another type",
                                                          .shapes = "x -> y of the same shape",
                                                          .inputs = {{"x", one_of(kPlain | kBlocks)}},
                                                          .outputs = {{"y", {}}},
                                                          .elementwise = true,
                                                          .attributes = {attribute<&CastAttributes::to>(BP_ATTR_to)},
                                                          .shape = cast_shape});

// ---- DepthToSpace -----------------------------------------------------------------------------------------------------------

enum class DepthMode : int64_t { dcr = BP_DTS_DCR, crd = BP_DTS_CRD };
struct DepthToSpaceAttributes {
    Required<int64_t> blocksize;
    DepthMode mode = DepthMode::dcr;
};
inline void depth_to_space_shape(const Call& call, Outputs out) {
    require_rank(call, 0, 4);
    const int64_t block = call.as<DepthToSpaceAttributes>().blocksize.value;
    const Dims& x = call.dims(0);
    const int64_t cells = checked_mul(call, block, block);
    require(x[1] % cells == 0, [&] {
        return call.text(0) + " has " + std::to_string(x[1]) + " channels, no multiple of blocksize " +
               std::to_string(block) + " squared";
    });
    out[0].dims = {x[0], x[1] / cells, checked_mul(call, x[2], block), checked_mul(call, x[3], block)};
}
inline constexpr auto op_depth_to_space = describe<DepthToSpaceAttributes>(
    {.id = BP_OP_depth_to_space,
     .summary = "channels to blocks of pixels",
     .shapes = "x[N, C, H, W] -> y[N, C / b^2, H * b, W * b], b = blocksize",
     .inputs = {{"x", one_of(kPlain)}},
     .outputs = {{"y", like(0)}},
     .moves = true,
     .attributes = {attribute<&DepthToSpaceAttributes::blocksize>(BP_ATTR_blocksize, at_least(1)),
                    attribute<&DepthToSpaceAttributes::mode>(BP_ATTR_mode, between(BP_DTS_DCR, BP_DTS_CRD))},
     .shape = depth_to_space_shape});

// ---- SpaceToDepth -----------------------------------------------------------------------------------------------------------

struct SpaceToDepthAttributes {
    Required<int64_t> blocksize;
};
inline void space_to_depth_shape(const Call& call, Outputs out) {
    require_rank(call, 0, 4);
    const int64_t block = call.as<SpaceToDepthAttributes>().blocksize.value;
    const Dims& x = call.dims(0);
    require(x[2] % block == 0 && x[3] % block == 0, [&] {
        return call.text(0) + " has " + std::to_string(x[2]) + " rows and " + std::to_string(x[3]) +
               " columns, no multiples of blocksize " + std::to_string(block);
    });
    out[0].dims = {x[0], checked_mul(call, x[1], checked_mul(call, block, block)), x[2] / block, x[3] / block};
}
inline constexpr auto op_space_to_depth = describe<SpaceToDepthAttributes>(
    {.id = BP_OP_space_to_depth,
     .summary = "blocks of pixels to channels: DepthToSpace in DCR mode, backwards",
     .shapes = "x[N, C, H, W] -> y[N, C * b^2, H / b, W / b], b = blocksize",
     .inputs = {{"x", one_of(kPlain)}},
     .outputs = {{"y", like(0)}},
     .moves = true,
     .attributes = {attribute<&SpaceToDepthAttributes::blocksize>(BP_ATTR_blocksize, at_least(1))},
     .shape = space_to_depth_shape});

// ---- Resize -----------------------------------------------------------------------------------------------------------------

enum class ResizeMode : int64_t { nearest = BP_RESIZE_NEAREST, linear = BP_RESIZE_LINEAR, cubic = BP_RESIZE_CUBIC };
enum class Coordinates : int64_t {
    asymmetric = BP_COORDINATES_ASYMMETRIC,
    half_pixel = BP_COORDINATES_HALF_PIXEL,
    align_corners = BP_COORDINATES_ALIGN_CORNERS,
    pytorch_half_pixel = BP_COORDINATES_PYTORCH_HALF_PIXEL
};
struct ResizeAttributes {
    Required<List> sizes;  // of each spatial axis, "H', W'"
    ResizeMode mode = ResizeMode::nearest;
    Coordinates coordinates = Coordinates::asymmetric;
    double cubic_coeff_a = -0.75;  // of cubic: how far it overshoots
    bool exclude_outside =
        false;  // of cubic: elements beside x have no weight, those within share it; else the edge stands for them
};
inline void resize_shape(const Call& call, Outputs out) {
    const auto& a = call.as<ResizeAttributes>();
    require((type(call.dtype(0)) & kFloats) != 0 || a.mode == ResizeMode::nearest, BP_WHY_DTYPE,
            [&] { return "takes " + names_of(kFloats) + ", not " + call.typed_text(0); });
    const Dims& x = call.dims(0);
    require(x.size() >= 3 && x.size() <= 5,
            [&] { return call.text(0) + " must have rank 3 to 5: one to three spatial axes"; });
    require_numbers(call, BP_ATTR_sizes, a.sizes.value, x.size() - 2);
    Dims& y = out[0].dims;
    y = x;
    for (uint32_t d = 2; d < x.size(); ++d) y[d] = a.sizes.value[d - 2];
    for (uint32_t d = 2; d < x.size(); ++d) {
        require(y[d] == 0 || x[d] > 0, [&] { return call.text(0) + " is empty and cannot become " + text_of(y); });
        // Positions are worked out in whole numbers up to 2 * size * size'.
        static_cast<void>(checked_mul(call, checked_mul(call, checked_add(call, y[d], 1), 2), checked_add(call, x[d], 1)));
    }
}
inline constexpr auto op_resize = describe<ResizeAttributes>(
    {.id = BP_OP_resize,
     .summary = "feature maps of other extents",
     .shapes = "x[N, C, ...] -> y[N, C, sizes ...]; one to three spatial axes",
     .inputs = {{"x", one_of(kPlain)}},
     .outputs = {{"y", like(0)}},
     .attributes = {attribute<&ResizeAttributes::sizes>(BP_ATTR_sizes, at_least(0)),
                    attribute<&ResizeAttributes::mode>(BP_ATTR_mode, between(BP_RESIZE_NEAREST, BP_RESIZE_CUBIC)),
                    attribute<&ResizeAttributes::coordinates>(
                        BP_ATTR_coordinates, between(BP_COORDINATES_ASYMMETRIC, BP_COORDINATES_PYTORCH_HALF_PIXEL)),
                    attribute<&ResizeAttributes::cubic_coeff_a>(BP_ATTR_cubic_coeff_a),
                    attribute<&ResizeAttributes::exclude_outside>(BP_ATTR_exclude_outside)},
     .shape = resize_shape});

}  // namespace backplane::ops
