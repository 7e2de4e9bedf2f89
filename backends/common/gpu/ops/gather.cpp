// Gather, GatherElements and OneHot: what integers pick.
#include "common/gpu/loop_nest.hpp"
#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::gather {

namespace {

// `nest`: over the result.
void add_picks(Lowering& to, const Node& node, size_t axis, const LoopNest& nest) {
    const Value& in = to[node.inputs[0]];
    const ValueId indices = node.inputs[1];
    const auto n = static_cast<uint64_t>(to[node.output].elements());
    GatherParameters parameters{
        .stride = word(strides_of(in)[axis]), .extent = word(in.dim[axis]), .index_words = words_of_index(to, indices)};
    nest.write_to(parameters.nest);
    to.each(step_label(to, node), variant_for(kKernel_gather_1, sdk::dtype_info(in.dtype).bytes), n,
            {to.reads(node.inputs[0]), to.reads(indices, 4), to.writes(node.output)}, parameters);
}

void lower_gather(Lowering& to, const Node& node) {
    const auto axis = static_cast<size_t>(node.as<backplane::ops::GatherAttributes>().axis);
    const std::vector<int64_t>& dim = to[node.inputs[0]].dim;
    const int64_t inner = strides_of(to[node.inputs[0]])[axis];
    int64_t outer = 1;
    for (size_t d = 0; d < axis; ++d) outer *= dim[d];
    add_picks(to, node, axis, LoopNest({outer, to[node.inputs[1]].elements(), inner}, {dim[axis] * inner, 0, 1}, {0, 1, 0}));
}

void lower_elements(Lowering& to, const Node& node) {
    const auto axis = static_cast<size_t>(node.as<backplane::ops::GatherElementsAttributes>().axis);
    std::vector<int64_t> strides = strides_of(to[node.inputs[0]]);
    strides[axis] = 0;
    const Value& indices = to[node.inputs[1]];
    add_picks(to, node, axis, LoopNest(indices.dim, strides, strides_of(indices)));
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

constexpr OpLowering table[] = {{BP_OP_gather, Types::moves, 0, nullptr, lower_gather},
                                {BP_OP_gather_elements, Types::moves, 0, nullptr, lower_elements},
                                {BP_OP_one_hot, Types::moves, 0, nullptr, lower_one_hot}};

}  // namespace

const OpFamily ops_gather = {table, std::size(table)};

}  // namespace backplane::gpu::ops::gather
