// Sums, products, norms, means, largest and smallest over any set of axes.
#include "common/gpu/loop_nest.hpp"
#include "common/gpu/ops/table.hpp"
#include "common/reduction.hpp"

namespace backplane::gpu::ops::reduce {

namespace {

uint32_t kernel_for(uint32_t op, uint32_t dtype) {
    if (op == BP_OP_reduce_log_sum_exp) return variant_for_type(kKernel_log_sum_exp_f32, dtype);
    return variant_for_number(kKernel_reduce_f32, dtype);
}

void lower(Lowering& to, const Node& node) {
    const Value& in = to[node.inputs[0]];
    const auto [kept, gone] = backend::split_axes(node, in.dim, strides_of(in));
    int64_t n = 1;
    for (const int64_t extent : gone.size) n *= extent;
    const auto results = static_cast<uint64_t>(to[node.output].elements());
    ReduceParameters parameters{.results = static_cast<uint32_t>(results),
                                .n = word(n),
                                .op = backend::is_mean(node) ? uint32_t{BP_OP_reduce_mean} : node.op};
    LoopNest(kept.size, kept.stride, kept.stride).write_to(parameters.kept);
    LoopNest(gone.size, gone.stride, gone.stride).write_to(parameters.summed);
    to.rows(step_label(to, node), kernel_for(node.op, in.dtype), results, n >= 128 ? 128 : 32,
            {to.reads(node.inputs[0]), to.writes(node.output)}, words_of(parameters));
}

constexpr OpLowering reduction(uint32_t op) { return {op, Types::numbers, 0, nullptr, lower}; }
constexpr OpLowering table[] = {reduction(BP_OP_reduce_sum),         reduction(BP_OP_reduce_mean),
                                reduction(BP_OP_reduce_max),         reduction(BP_OP_reduce_min),
                                reduction(BP_OP_reduce_prod),        reduction(BP_OP_reduce_l1),
                                reduction(BP_OP_reduce_l2),          reduction(BP_OP_reduce_sum_square),
                                reduction(BP_OP_reduce_log_sum_exp), reduction(BP_OP_global_average_pool)};

}  // namespace

const OpFamily ops_reduce = {table, std::size(table)};

}  // namespace backplane::gpu::ops::reduce
