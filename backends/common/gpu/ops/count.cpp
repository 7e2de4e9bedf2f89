// Range and CumSum.
#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::count {

namespace {

void lower_range(Lowering& to, const Node& node) {
    const Value& out = to[node.output];
    const auto n = static_cast<uint64_t>(out.elements());
    const uint32_t kernel = variant_for_number(kKernel_range_f32, out.dtype);
    to.each(step_label(to, node), kernel, n, {to.reads(node.inputs[0]), to.reads(node.inputs[1]), to.writes(node.output)},
            RangeParameters{});
}

void lower_cum_sum(Lowering& to, const Node& node) {
    const Value& x = to[node.inputs[0]];
    const auto attributes = node.as<backplane::ops::CumSumAttributes>();
    const auto axis = static_cast<size_t>(attributes.axis);
    const int64_t n = x.dim[axis];
    const int64_t lines = x.elements() / n;
    const uint32_t kernel = variant_for_number(kKernel_cum_sum_f32, x.dtype);
    const auto work = static_cast<double>(x.elements()) * 8;
    to.each(step_label(to, node), kernel, static_cast<uint64_t>(lines), {to.reads(node.inputs[0]), to.writes(node.output)},
            words_of(CumSumParameters{.lines = word(lines),
                                      .n = word(n),
                                      .stride = word(strides_of(x)[axis]),
                                      .exclusive = attributes.exclusive ? 1U : 0U,
                                      .reverse = attributes.reverse ? 1U : 0U}));
    to.plan.dispatches.back().work = work;
}

constexpr OpLowering table[] = {{BP_OP_range, Types::numbers, 0, nullptr, lower_range},
                                {BP_OP_cum_sum, Types::numbers, 0, nullptr, lower_cum_sum}};

}  // namespace

const OpFamily ops_count = {table, std::size(table)};

}  // namespace backplane::gpu::ops::count
