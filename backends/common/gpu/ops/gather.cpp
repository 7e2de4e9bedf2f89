// Gather, GatherElements and OneHot: what integers pick.
#include "common/gpu/loop_nest.hpp"
#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::gather {

namespace {

void lower_gather(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId indices = node.inputs[1];
    const auto axis = static_cast<size_t>(node.as<backplane::ops::GatherAttributes>().axis);
    const std::vector<int64_t>& dim = to[in].dim;
    int64_t inner = 1;
    for (size_t d = axis + 1; d < dim.size(); ++d) inner *= dim[d];
    const auto n = static_cast<uint64_t>(to[node.output].elements());
    const uint32_t bytes = sdk::dtype_info(to[in].dtype).bytes;
    to.each(step_label(to, node), variant_for(kKernel_gather_1, bytes), n,
            {to.reads(in), to.reads(indices, 4), to.writes(node.output)},
            words_of(GatherParameters{.elements = static_cast<uint32_t>(n),
                                      .inner = word(inner),
                                      .indices = word(to[indices].elements()),
                                      .extent = word(dim[axis]),
                                      .index_words = words_of_index(to, indices)}));
}

void lower_elements(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId indices = node.inputs[1];
    const auto axis = static_cast<size_t>(node.as<backplane::ops::GatherElementsAttributes>().axis);
    const auto n = static_cast<uint64_t>(to[node.output].elements());
    std::vector<int64_t> strides = strides_of(to[in]);
    const int64_t stride = std::exchange(strides[axis], 0);
    GatherElementsParameters parameters{.elements = static_cast<uint32_t>(n),
                                        .stride = word(stride),
                                        .extent = word(to[in].dim[axis]),
                                        .index_words = words_of_index(to, indices)};
    LoopNest(to[indices].dim, strides, strides).write_to(parameters.nest);
    to.each(step_label(to, node), variant_for(kKernel_gather_elements_1, sdk::dtype_info(to[in].dtype).bytes), n,
            {to.reads(in), to.reads(indices, 4), to.writes(node.output)}, words_of(parameters));
}

void lower_one_hot(Lowering& to, const Node& node) {
    const ValueId indices = node.inputs[0];
    const Value& out = to[node.output];
    const auto attributes = node.as<backplane::ops::OneHotAttributes>();
    const auto n = static_cast<uint64_t>(out.elements());
    to.each(step_label(to, node), variant_for(kKernel_one_hot_1, sdk::dtype_info(out.dtype).bytes), n,
            {to.reads(indices, 4), to.reads(node.inputs[1]), to.writes(node.output)},
            words_of(OneHotParameters{.elements = static_cast<uint32_t>(n),
                                      .inner = word(strides_of(out)[static_cast<size_t>(attributes.axis)]),
                                      .depth = word(attributes.depth.value),
                                      .index_words = words_of_index(to, indices)}));
}

constexpr OpLowering table[] = {{BP_OP_gather, Types::moves, 0, nullptr, lower_gather},
                                {BP_OP_gather_elements, Types::moves, 0, nullptr, lower_elements},
                                {BP_OP_one_hot, Types::moves, 0, nullptr, lower_one_hot}};

}  // namespace

const OpFamily ops_gather = {table, std::size(table)};

}  // namespace backplane::gpu::ops::gather
