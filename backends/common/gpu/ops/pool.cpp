// MaxPool, AveragePool and MaxPoolIndices; a mean of whole maps is a reduction.
#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::pool {

namespace {

void lower(Lowering& to, const Node& node) {
    const Value& x = to[node.inputs[0]];
    const Value& y = to[node.output];
    const auto axes = static_cast<uint32_t>(x.dim.size() - 2);
    const auto how = node.as<backplane::ops::PoolAttributes>().filled(axes);
    const auto n = static_cast<uint64_t>(y.elements());
    PoolParameters parameters{.average = node.op == BP_OP_average_pool ? 1U : 0U,
                              .counts_pads = how.count_include_pad ? 1U : 0U,
                              .first_is_innermost = how.storage_order ? 1U : 0U};
    double taps = 1;
    for (uint32_t d = 0; d < 3; ++d) {
        const bool there = d + axes >= 3;
        const uint32_t axis = there ? d + axes - 3 : 0;
        const auto at = [&](int64_t value, int64_t otherwise) { return word(there ? value : otherwise); };
        parameters.extents[d] = at(x.dim[2 + axis], 1);
        parameters.results[d] = at(y.dim[2 + axis], 1);
        parameters.window[d] = at(how.kernel_shape.value[axis], 1);
        parameters.steps[d] = at(how.strides[axis], 1);
        parameters.before[d] = at(how.pads[axis], 0);
        parameters.after[d] = at(how.pads[axes + axis], 0);
        parameters.dilations[d] = at(how.dilations[axis], 1);
        taps *= parameters.window[d];
    }
    const bool places = node.op == BP_OP_max_pool_indices;
    const uint32_t kernel =
        places ? variant_for_type(kKernel_pool_indices_f32, x.dtype) : variant_for_type(kKernel_pool_f32, x.dtype);
    to.each(step_label(to, node), kernel, n,
            {to.reads(node.inputs[0]), places ? to.writes(node.output, sizeof(uint32_t)) : to.writes(node.output)},
            parameters);
    if (n != 0) to.plan.dispatches.back().work = static_cast<double>(n) * 8 * taps;
}

// Kernels count positions, those of the padding too, in 31 bits.
Verdict check(const Plan& plan, const Node& node) {
    const Value& x = plan[node.inputs[0]];
    const auto axes = static_cast<uint32_t>(x.dim.size() - 2);
    const auto how = node.as<backplane::ops::PoolAttributes>().filled(axes);
    for (uint32_t d = 0; d < axes; ++d)
        if (x.dim[2 + d] + how.pads[d] + how.pads[axes + d] + how.strides[d] >= INT32_MAX)
            return {BP_WHY_LIMIT, node.text() + " has more padding than this device counts, beside " + x.text()};
    return {};
}

constexpr OpLowering table[] = {{BP_OP_max_pool, Types::computes, 0, check, lower},
                                {BP_OP_average_pool, Types::computes, 0, check, lower},
                                {BP_OP_max_pool_indices, Types::judges, 0, check, lower}};

}  // namespace

const OpFamily ops_pool = {table, std::size(table)};

}  // namespace backplane::gpu::ops::pool
