// Gather: slices along one axis, picked by integers.
#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::gather {

namespace {

void lower(Lowering& to, const Node& node) {
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
                                      .index_words = to[indices].dtype == BP_I64 ? 2U : 1U}));
}

Verdict check(const Plan& plan, const Node& node) {
    const Value& x = plan[node.inputs[0]];
    const uint32_t type = plan[node.inputs[1]].dtype;
    if (x.dtype != plan[node.output].dtype || is_block(x.dtype))
        return {BP_WHY_DTYPE, node.text() + " copies plain elements, not " + x.text() + " to " + plan[node.output].text()};
    if (!is_whole(type)) return {BP_WHY_DTYPE, node.text() + " takes indices of i32 or i64"};
    return {};
}

constexpr OpLowering table[] = {{BP_OP_gather, Types::moves, 0, check, lower}};

}  // namespace

const OpFamily ops_gather = {table, std::size(table)};

}  // namespace backplane::gpu::ops::gather
