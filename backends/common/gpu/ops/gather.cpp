// Gather, GatherElements and OneHot: what integers pick. GridSample: what places pick.
#include "common/gpu/loop_nest.hpp"
#include "common/gpu/ops/blocks.hpp"
#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::gather {

namespace {

// Elements that a kernel picks: those of blocks are words of 16 bits.
struct Picked {
    uint32_t bytes = 0;
    int64_t stride = 0;  // along the axis
    int64_t elements = 0;
    Picked(const Value& in, size_t axis, const Value& out)
        : bytes(sdk::dtype_info(in.dtype).bytes), stride(strides_of(in)[axis]), elements(out.elements()) {
        if (!is_block(in.dtype)) return;
        const int64_t words = bytes / 2, block = sdk::dtype_info(in.dtype).block;
        bytes = 2;
        stride = stride / block * words;
        elements = elements / block * words;
    }
};

// `nest`: over the result.
void add_picks(Lowering& to, const Node& node, size_t axis, const Picked& picked, const LoopNest& nest) {
    const ValueId indices = node.inputs[1];
    GatherParameters parameters{.stride = word(picked.stride),
                                .extent = word(to[node.inputs[0]].dim[axis]),
                                .index_words = words_of_index(to, indices)};
    nest.write_to(parameters.nest);
    to.each(step_label(to, node), variant_for(kKernel_gather_1, picked.bytes), static_cast<uint64_t>(picked.elements),
            {to.reads(node.inputs[0], picked.bytes), to.reads(indices, 4), to.writes(node.output, picked.bytes)},
            parameters);
}

// Of a weight in planes, which products read, too.
void gather_from_planes(Lowering& to, const Node& node, size_t axis) {
    const ValueId planes = planes_of(to, node.inputs[0]);
    const Value& in = to[node.inputs[0]];
    const ValueId indices = node.inputs[1];
    int64_t outer = 1, inner = 1;
    for (size_t d = 0; d < axis; ++d) outer *= in.dim[d];
    for (size_t d = axis + 1; d + 1 < in.dim.size(); ++d) inner *= in.dim[d];
    GatherBlocksParameters parameters{.stride = word(inner),
                                      .extent = word(in.dim[axis]),
                                      .index_words = words_of_index(to, indices),
                                      .depth = word(in.dim.back()),
                                      .scales = word(spans_of(in))};
    LoopNest({outer, to[indices].elements(), inner}, {in.dim[axis] * inner, 0, 1}, {0, 1, 0}).write_to(parameters.nest);
    to.each(step_label(to, node), kKernel_gather_blocks, static_cast<uint64_t>(to[node.output].elements()) / 4,
            {to.reads(planes, 4), to.reads(indices, 4), to.writes(node.output), to.reads(planes, 2)}, parameters,
            {in.dtype});
}

void lower_gather(Lowering& to, const Node& node) {
    const auto axis = static_cast<size_t>(node.as<backplane::ops::GatherAttributes>().axis);
    if (is_block(to[node.inputs[0]].dtype) && !is_block(to[node.output].dtype)) return gather_from_planes(to, node, axis);
    const std::vector<int64_t>& dim = to[node.inputs[0]].dim;
    const Picked picked(to[node.inputs[0]], axis, to[node.output]);
    const int64_t inner = picked.stride;
    int64_t outer = 1;
    for (size_t d = 0; d < axis; ++d) outer *= dim[d];
    add_picks(to, node, axis, picked,
              LoopNest({outer, to[node.inputs[1]].elements(), inner}, {dim[axis] * inner, 0, 1}, {0, 1, 0}));
}

void lower_elements(Lowering& to, const Node& node) {
    const auto axis = static_cast<size_t>(node.as<backplane::ops::GatherElementsAttributes>().axis);
    std::vector<int64_t> strides = strides_of(to[node.inputs[0]]);
    strides[axis] = 0;
    const Value& indices = to[node.inputs[1]];
    add_picks(to, node, axis, Picked(to[node.inputs[0]], axis, to[node.output]),
              LoopNest(indices.dim, strides, strides_of(indices)));
}

void lower_one_hot(Lowering& to, const Node& node) {
    const ValueId indices = node.inputs[0];
    const Value& out = to[node.output];
    const auto attributes = node.as<backplane::ops::OneHotAttributes>();
    const auto n = static_cast<uint64_t>(out.elements());
    to.each(step_label(to, node), variant_for(kKernel_one_hot_1, sdk::dtype_info(out.dtype).bytes), n,
            {to.reads(indices, 4), to.reads(node.inputs[1]), to.writes(node.output)},
            OneHotParameters{.inner = word(strides_of(out)[static_cast<size_t>(attributes.axis)]),
                             .depth = word(attributes.depth.value),
                             .index_words = words_of_index(to, indices)});
}

void lower_samples(Lowering& to, const Node& node) {
    const Value& x = to[node.inputs[0]];
    const auto how = node.as<backplane::ops::GridSampleAttributes>();
    const auto n = static_cast<uint64_t>(to[node.output].elements());
    const size_t axes = x.dim.size() - 2;
    const auto extent = [&](size_t axis) { return word(axis < axes ? x.dim[x.dim.size() - 1 - axis] : 1); };
    to.each(step_label(to, node), variant_for_type(kKernel_grid_sample_f32, x.dtype), n,
            {to.reads(node.inputs[0]), to.reads(node.inputs[1]), to.writes(node.output)},
            GridSampleParameters{.places = word(to[node.output].elements() / x.dim[0] / x.dim[1]),
                                 .channels = word(x.dim[1]),
                                 .axes = static_cast<uint32_t>(axes),
                                 .planes = extent(2),
                                 .rows = extent(1),
                                 .columns = extent(0),
                                 .nearest = how.mode == backplane::ops::SampleMode::nearest ? 1U : 0U,
                                 .cubic = how.mode == backplane::ops::SampleMode::cubic ? 1U : 0U,
                                 .zeros = how.padding_mode == backplane::ops::SamplePadding::zeros ? 1U : 0U,
                                 .reflects = how.padding_mode == backplane::ops::SamplePadding::reflection ? 1U : 0U,
                                 .corners = how.align_corners ? 1U : 0U});
}

constexpr OpLowering table[] = {{BP_OP_gather, Types::moves, 0, nullptr, lower_gather},
                                {BP_OP_gather_elements, Types::moves, 0, nullptr, lower_elements},
                                {BP_OP_one_hot, Types::moves, 0, nullptr, lower_one_hot},
                                {BP_OP_grid_sample, Types::computes, 0, nullptr, lower_samples}};

}  // namespace

const OpFamily ops_gather = {table, std::size(table)};

}  // namespace backplane::gpu::ops::gather
