// Concat, Slice, Transpose, DepthToSpace, Reshape, Expand and Tile: each element of the result is one of an operand.
#include <utility>

#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::moves {

namespace {

void lower_concat(Lowering& to, const Node& node) {
    const auto axis = static_cast<size_t>(node.as<backplane::ops::ConcatAttributes>().axis.value);
    const std::vector<int64_t> strides = strides_of(to[node.output]);
    int64_t at = 0;
    for (const ValueId in : node.inputs) {
        add_copy(to, step_label(to, node), to[in].dim, {in, 0, strides_of(to[in])},
                 {node.output, at * strides[axis], strides});
        at += to[in].dim[axis];
    }
}

// Expand, Slice, Transpose, DepthToSpace, SpaceToDepth.
void lower_move(Lowering& to, const Node& node) {
    auto copy = backend::copy_of(node, to[node.inputs[0]], to[node.output]);
    add_copy(to, step_label(to, node), copy.size, std::move(copy.from), std::move(copy.into));
}

// Each axis is two loops: over the repetitions, and over the operand.
void lower_tile(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const std::vector<int64_t> dim = to[in].dim;
    const std::vector<int64_t> x = strides_of(to[in]);
    const std::vector<int64_t> y = strides_of(to[node.output]);
    const backplane::ops::List repeats = node.as<backplane::ops::TileAttributes>().repeats;
    std::vector<int64_t> size, from, into;
    for (size_t d = 0; d < dim.size(); ++d) {
        size.insert(size.end(), {repeats[d], dim[d]});
        from.insert(from.end(), {0, x[d]});
        into.insert(into.end(), {y[d] * dim[d], y[d]});
    }
    add_copy(to, step_label(to, node), size, {in, 0, from}, {node.output, 0, into});
}

void lower_reshape(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const Value& out = to[node.output];
    // Another name for the same bytes, except where either side is not memory of the workspace or of the caller.
    if (out.role == BP_ROLE_TEMPORARY && out.state == kNone && to[in].role != BP_ROLE_CONSTANT) {
        to.plan[node.output].inside = in;
        return;
    }
    add_copy(to, step_label(to, node), {out.elements()}, {in, 0, {1}}, {node.output, 0, {1}});
}

constexpr OpLowering table[] = {
    {BP_OP_concat, Types::moves, Wants::either, 0, nullptr, lower_concat},
    {BP_OP_slice, Types::moves, Wants::either, 0, nullptr, lower_move},
    {BP_OP_transpose, Types::moves, Wants::row_major, 0, nullptr, lower_move},
    {BP_OP_depth_to_space, Types::moves, Wants::either, 0, nullptr, lower_move},
    {BP_OP_expand, Types::moves, Wants::row_major, 0, nullptr, lower_move},
    {BP_OP_tile, Types::moves, Wants::row_major, 0, nullptr, lower_tile},
    {BP_OP_space_to_depth, Types::moves, Wants::either, 0, nullptr, lower_move},
    {BP_OP_reshape, Types::moves, Wants::row_major, 0, nullptr, lower_reshape},
};

}  // namespace

const OpFamily ops_moves = {table, std::size(table)};

}  // namespace backplane::cpu::ops::moves
