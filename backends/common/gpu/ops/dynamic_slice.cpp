// DynamicSlice.
#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::dynamic_slice {

namespace {

void lower(Lowering& to, const Node& node) {
    const auto a = node.as<backplane::ops::DynamicSliceAttributes>();
    const Value& x = to[node.inputs[0]];
    const Value& y = to[node.output];
    const ValueId starts = node.inputs[1];
    const ValueId ends = node.input(2);
    const auto n = static_cast<uint64_t>(y.elements());
    DynamicSliceParameters p{.rank = static_cast<uint32_t>(x.dim.size()),
                             .ended = ends != kNone ? 1U : 0U,
                             .bound_words = words_of_index(to, starts)};
    for (size_t d = 0; d < x.dim.size(); ++d) {
        p.sizes[d] = word(y.dim[d]);
        p.extents[d] = word(x.dim[d]);
        p.steps[d] = 1;
        p.which[d] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < a.axes.size(); ++i) {
        const auto axis = static_cast<size_t>(a.axes[i]);
        p.steps[axis] = word(std::min<int64_t>(a.steps[i], INT32_MAX));  // past every axis
        p.which[axis] = i;
    }
    to.each(step_label(to, node), variant_for(kKernel_dynamic_slice_1, sdk::dtype_info(x.dtype).bytes), n,
            {to.reads(node.inputs[0]), to.reads(starts, 4), to.reads_or(ends, starts, 4), to.writes(node.output)}, p);
    if (n != 0) to.plan.dispatches.back().moved = y.bytes;
}

constexpr OpLowering table[] = {{BP_OP_dynamic_slice, Types::moves, 0, nullptr, lower}};

}  // namespace

const OpFamily ops_dynamic_slice = {table, std::size(table)};

}  // namespace backplane::gpu::ops::dynamic_slice
