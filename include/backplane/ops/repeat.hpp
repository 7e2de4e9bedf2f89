// Descriptions of ops that repeat elements, or count them out.
#pragma once

#include "backplane/ops/description.hpp"

namespace backplane::ops {

// ---- Expand -----------------------------------------------------------------------------------------------------------------

struct ExpandAttributes {
    Required<List> shape;
};
inline Dims expanded(const Call& call, const List& shape) {
    Dims dims;
    for (const int64_t extent : shape) dims.push_back(extent);
    return broadcast(call.dims(0), dims, [&] { return call.text(0) + " and " + text_of(shape) + " do not broadcast"; });
}
inline void require_rank_of_shape(const List& shape) {
    require_attribute(shape.size() <= BP_MAX_RANK,
                      [&] { return "attribute shape has rank " + std::to_string(shape.size()) + ", 8 at most"; });
}
// As ONNX has it, the shape may have fewer axes than x, and 1 where x is longer.
inline void complete_expand(const Call& call, void* attributes) {
    List& shape = static_cast<ExpandAttributes*>(attributes)->shape.value;
    require_rank_of_shape(shape);
    const Dims result = expanded(call, shape);
    shape = {};
    for (const int64_t extent : result) shape.push_back(extent);
}
inline void expand_shape(const Call& call, Outputs out) {
    const List& shape = call.as<ExpandAttributes>().shape.value;
    require_rank_of_shape(shape);
    Dims& y = out[0].dims;
    y = expanded(call, shape);
    require(y.size() == shape.size() && std::equal(y.begin(), y.end(), shape.begin()),
            [&] { return call.text(0) + " does not broadcast to " + text_of(shape); });
    static_cast<void>(elements_of(call, {y.begin(), y.end()}));
}
inline constexpr auto op_expand = describe<ExpandAttributes>(
    {.id = BP_OP_expand,
     .summary = "elements repeated along axes of extent 1, and along new ones before all",
     .shapes = "x -> y of the attribute's shape, to which x broadcasts as numpy's",
     .inputs = {{"x", one_of(kPlain)}},
     .outputs = {{"y", like(0)}},
     .moves = true,
     .attributes = {attribute<&ExpandAttributes::shape>(BP_ATTR_shape, between(0, kLargestExtent))},
     .shape = expand_shape,
     .complete = complete_expand});

// ---- Tile -------------------------------------------------------------------------------------------------------------------

struct TileAttributes {
    Required<List> repeats;  // of each axis
};
inline void tile_shape(const Call& call, Outputs out) {
    const List& repeats = call.as<TileAttributes>().repeats.value;
    const Dims& x = call.dims(0);
    require_numbers(call, BP_ATTR_repeats, repeats, x.size());
    Dims& y = out[0].dims;
    y = {};
    for (uint32_t d = 0; d < x.size(); ++d) y.push_back(checked_mul(call, x[d], repeats[d]));
    static_cast<void>(elements_of(call, {y.begin(), y.end()}));
}
inline constexpr auto op_tile =
    describe<TileAttributes>({.id = BP_OP_tile,
                              .summary = "a tensor so many times beside itself, along each axis",
                              .shapes = "x -> y[d] = x[d] * repeats[d]",
                              .inputs = {{"x", one_of(kPlain)}},
                              .outputs = {{"y", like(0)}},
                              .moves = true,
                              .attributes = {attribute<&TileAttributes::repeats>(BP_ATTR_repeats, at_least(0))},
                              .shape = tile_shape});

// ---- Range ------------------------------------------------------------------------------------------------------------------

struct RangeAttributes {
    Required<int64_t> count;  // in place of ONNX's limit: shapes are known
};
inline void range_shape(const Call& call, Outputs out) {
    for (size_t i = 0; i < 2; ++i) require_rank(call, i, 0);
    out[0].dims = {call.as<RangeAttributes>().count.value};
}
inline constexpr auto op_range =
    describe<RangeAttributes>({.id = BP_OP_range,
                               .summary = "y[i] = start + i * delta",
                               .shapes = "start and delta, scalars -> y[count]",
                               .inputs = {{"start", one_of(kNumbers)}, {"delta", like(0)}},
                               .outputs = {{"y", like(0)}},
                               .attributes = {attribute<&RangeAttributes::count>(BP_ATTR_count, at_least(0))},
                               .shape = range_shape});

}  // namespace backplane::ops
