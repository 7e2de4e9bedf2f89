// Concat, Slice, Transpose, DepthToSpace and Reshape: each element of the result is one of an operand.
#include "loop_nest.hpp"
#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu {

namespace {

void lower_concat(Lowering& to, const Node& node) {
    const auto axis = static_cast<size_t>(node.integer(BP_ATTR_axis, 0));
    const std::vector<int64_t> strides = strides_of(to[node.output]);
    int64_t at = 0;
    for (const ValueId in : node.inputs) {
        add_copy(to, step_label(to, node), to[in].dim, {in, 0, strides_of(to[in])},
                 {node.output, at * strides[axis], strides});
        at += to[in].dim[axis];
    }
}

void lower_slice(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    std::vector<int64_t> strides = strides_of(to[in]);
    const std::vector<int64_t> starts = node.list(BP_ATTR_starts);
    const std::vector<int64_t> steps = node.list(BP_ATTR_steps);
    int64_t offset = 0;
    for (size_t d = 0; d < strides.size(); ++d) {
        if (d < starts.size()) offset += starts[d] * strides[d];
        if (d < steps.size()) strides[d] *= steps[d];
    }
    add_copy(to, step_label(to, node), to[node.output].dim, {in, offset, strides},
             {node.output, 0, strides_of(to[node.output])});
}

void lower_transpose(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const std::vector<int64_t> strides = strides_of(to[in]);
    const std::vector<int64_t> perm = node.list(BP_ATTR_perm);
    std::vector<int64_t> from;
    for (size_t d = 0; d < strides.size(); ++d)
        from.push_back(strides[d < perm.size() ? static_cast<size_t>(perm[d]) : strides.size() - 1 - d]);
    add_copy(to, step_label(to, node), to[node.output].dim, {in, 0, from}, {node.output, 0, strides_of(to[node.output])});
}

void lower_depth_to_space(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const std::vector<int64_t>& dim = to[in].dim;
    const int64_t b = node.integer(BP_ATTR_blocksize, 1);
    const int64_t channels = dim[1] / (b * b);
    const auto x = strides_of(to[in]);
    const auto y = strides_of(to[node.output]);
    const bool crd = node.integer(BP_ATTR_mode, BP_DTS_DCR) == BP_DTS_CRD;
    const int64_t of_channel = crd ? b * b : 1;
    const int64_t of_row = crd ? b : b * channels;
    const int64_t of_column = crd ? 1 : channels;
    // n, c, h, row in the block, w, column in the block
    add_copy(to, step_label(to, node), {dim[0], channels, dim[2], b, dim[3], b},
             {in, 0, {x[0], of_channel * x[1], x[2], of_row * x[1], x[3], of_column * x[1]}},
             {node.output, 0, {y[0], y[1], b * y[2], y[2], b * y[3], y[3]}});
}

void lower_reshape(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const Value& out = to[node.output];
    // Another name for the same bytes, except where either side is not memory of the workspace or of the caller.
    if (out.role == BP_ROLE_TEMPORARY && out.state == kNone && to[in].role != BP_ROLE_CONSTANT) {
        to.plan[node.output].same_storage_as = in;
        return;
    }
    add_copy(to, step_label(to, node), {out.elements()}, {in, 0, {1}}, {node.output, 0, {1}});
}

Verdict check_slice(const Plan& plan, const Node& node) {
    for (const int64_t step : node.list(BP_ATTR_steps))
        if (step < 1) return {BP_WHY_ATTRIBUTE, node.text() + " has a step below 1"};
    return same_plain_types(plan, node);
}

constexpr OpLowering table[] = {
    {BP_OP_concat, Types::moves, Wants::either, 0, same_plain_types, lower_concat},
    {BP_OP_slice, Types::moves, Wants::either, 0, check_slice, lower_slice},
    {BP_OP_transpose, Types::moves, Wants::row_major, 0, same_plain_types, lower_transpose},
    {BP_OP_depth_to_space, Types::moves, Wants::either, 0, same_plain_types, lower_depth_to_space},
    {BP_OP_reshape, Types::moves, Wants::row_major, 0, same_plain_types, lower_reshape},
};

}  // namespace

const OpFamily ops_moves = {table, std::size(table)};

}  // namespace backplane::cpu
