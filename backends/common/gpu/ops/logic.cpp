// Ops that judge elements, and Where.
#include "common/gpu/loop_nest.hpp"
#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::logic {

namespace {

uint32_t kernel_for(uint32_t dtype) {
    if (dtype == BP_BOOL) return kKernel_judge_bool;
    return variant_for_number(kKernel_judge_f32, dtype);
}

uint32_t flags_of(const Node& node) {
    if (node.op != BP_OP_is_inf) return 0;
    const auto counts = node.as<backplane::ops::IsInfAttributes>();
    return (counts.detect_negative ? JUDGE_NEGATIVE : 0) | (counts.detect_positive ? JUDGE_POSITIVE : 0);
}

void lower_judgement(Lowering& to, const Node& node) {
    const Value& out = to[node.output];
    const ValueId x = node.inputs[0];
    const ValueId y = node.inputs.back();
    const auto n = static_cast<uint64_t>(out.elements());
    JudgeParameters parameters{.op = node.op, .flags = flags_of(node)};
    LoopNest(out.dim, broadcast_strides(to[x], out.dim), broadcast_strides(to[y], out.dim)).write_to(parameters.nest);
    to.each(step_label(to, node), kernel_for(to[x].dtype), n, {to.reads(x), to.reads(y), to.writes(node.output)},
            parameters);
}

void lower_where(Lowering& to, const Node& node) {
    const Value& out = to[node.output];
    const auto n = static_cast<uint64_t>(out.elements());
    std::array<std::vector<int64_t>, 3> strides;
    for (size_t k = 0; k < strides.size(); ++k) strides[k] = broadcast_strides(to[node.inputs[k]], out.dim);
    WhereParameters parameters{};
    LoopsOf<3>(out.dim, strides).write_to(parameters.nest);
    to.each(step_label(to, node), variant_for(kKernel_where_1, sdk::dtype_info(out.dtype).bytes), n,
            {to.reads(node.inputs[0]), to.reads(node.inputs[1]), to.reads(node.inputs[2]), to.writes(node.output)},
            parameters);
    if (n != 0) to.plan.dispatches.back().moved = out.bytes;
}

constexpr OpLowering judges(uint32_t op) { return {op, Types::judges, 0, nullptr, lower_judgement}; }
constexpr OpLowering table[] = {
    judges(BP_OP_equal),
    judges(BP_OP_less),
    judges(BP_OP_less_or_equal),
    judges(BP_OP_greater),
    judges(BP_OP_greater_or_equal),
    judges(BP_OP_logical_and),
    judges(BP_OP_logical_or),
    judges(BP_OP_logical_xor),
    judges(BP_OP_logical_not),
    judges(BP_OP_is_nan),
    judges(BP_OP_is_inf),
    {BP_OP_where, Types::moves, 0, nullptr, lower_where},
};

}  // namespace

const OpFamily ops_logic = {table, std::size(table)};

}  // namespace backplane::gpu::ops::logic
