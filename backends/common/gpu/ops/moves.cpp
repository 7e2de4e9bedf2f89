// Concat, Slice, Transpose, DepthToSpace, Reshape, Expand, TensorScatter and ScatterND: each element of the result is one of an operand, or
// what ScatterND makes of several. Pad: constant, edge or reflected borders; Tile: the same with the operand itself behind it.
// Cast: every pair of plain types, and decoding of the block types to floats.
#include "common/gpu/ops/moves.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "common/gpu/loop_nest.hpp"
#include "common/gpu/ops/table.hpp"
#include "common/reduction.hpp"
#include "common/saturated.hpp"

namespace backplane::gpu::ops::moves {

namespace {

using View = backend::StridedView;

// From here on the device's own copy is faster than a kernel.
constexpr uint64_t kTransferBytes = 65536;

// Bytes of what is moved at once: blocks are words of 16 bits.
uint32_t moved_bytes(uint32_t dtype) { return is_block(dtype) ? 2 : sdk::dtype_info(dtype).bytes; }
// So many of them are these elements.
int64_t moved(uint32_t dtype, int64_t elements) {
    const sdk::DTypeInfo type = sdk::dtype_info(dtype);
    return elements / type.block * (type.bytes / moved_bytes(dtype));
}

// A value that is a stretch of another's bytes.
ValueId part_of(Lowering& to, const View& view, uint64_t bytes) {
    const ValueId part = to.plan.temporary(BP_U8, {static_cast<int64_t>(bytes)});
    to.plan[part].inside = view.value;
    to.plan[part].inside_at = static_cast<uint64_t>(view.offset) * sdk::dtype_info(to[view.value].dtype).bytes;
    return part;
}

// Do the bytes from here on lie at multiples of 8, wherever the host binds what it binds?
bool in_eights(const Lowering& to, ValueId value, uint64_t from) {
    uint64_t at = 0;
    return to[to.plan.storage_of(value, &at)].role == BP_ROLE_TEMPORARY && at % 8 == 0 && from % 8 == 0;
}

// How many elements can be moved as one, of 8, 4 or 2 bytes: those of the innermost loop follow each other, and begin at multiples of so many.
uint32_t moved_at_once(const Lowering& to, const LoopNest& nest, uint32_t bytes, const View& from, const View& into) {
    const auto starts = [&](const View& view) { return static_cast<uint64_t>(view.offset) * bytes; };
    if (nest.size.empty() || nest.stride[0].back() != 1 || nest.stride[1].back() != 1) return 1;
    if (!in_eights(to, from.value, starts(from)) || !in_eights(to, into.value, starts(into))) return 1;
    for (const uint32_t many : {8U, 4U, 2U}) {
        bool whole = many * bytes <= 8 && nest.size.back() % many == 0;
        for (size_t d = 0; d + 1 < nest.size.size(); ++d)
            whole = whole && nest.stride[0][d] % many == 0 && nest.stride[1][d] % many == 0;
        if (whole) return many;
    }
    return 1;
}

// What networks convert at every run: elements in and out of the precision that they are computed in.
bool is_frequent(uint32_t from, uint32_t into) {
    return (from == BP_F32 && into == BP_F16) || (from == BP_F16 && into == BP_F32);
}

bool is_wide(uint32_t dtype) { return dtype == BP_F64 || dtype == BP_I64; }

}  // namespace

void add_copy(Lowering& to, const std::string& label, const std::vector<int64_t>& size, const View& from, const View& into) {
    uint64_t n = 1;
    for (const int64_t s : size) n *= static_cast<uint64_t>(s);
    if (n == 0) return;
    const uint32_t bytes = moved_bytes(to[into.value].dtype);
    LoopNest nest(size, from.strides, into.strides);
    const bool one_run = nest.size.size() == 1 && nest.stride[0][0] == 1 && nest.stride[1][0] == 1;
    const uint32_t many = moved_at_once(to, nest, bytes, from, into);
    const bool eights = to.can.slow_copies && many * bytes == 8;
    if (one_run && n * bytes >= kTransferBytes && !eights) {
        Dispatch d;
        d.label = label;
        d.operands = {to.reads(part_of(to, from, n * bytes), 1), to.writes(part_of(to, into, n * bytes), 1)};
        to.add(std::move(d));
        return;
    }
    CopyParameters parameters{.first_x = word(from.offset / many), .first_y = word(into.offset / many)};
    if (many > 1) {
        nest.size.back() /= many;
        for (auto& strides : nest.stride)
            for (size_t d = 0; d + 1 < strides.size(); ++d) strides[d] /= many;
    }
    nest.write_to(parameters.nest);
    to.each(label, variant_for(kKernel_copy_1, bytes * many), n / many,
            {to.reads(from.value, bytes * many), to.writes(into.value, bytes * many)}, parameters);
    to.plan.dispatches.back().moved = n * bytes;
}

void add_cast(Lowering& to, ValueId in, ValueId out) {
    const auto n = static_cast<uint64_t>(to[out].elements());
    const uint32_t from = to[in].dtype;
    const uint32_t into = to[out].dtype;
    const std::string label = "Cast " + to[in].text() + " to " + sdk::dtype_info(into).name;
    if (from == into)  // the same bytes, NaNs and all
        return add_copy(to, label, {to[out].elements()}, {in, 0, {1}}, {out, 0, {1}});
    const uint32_t kernel = is_wide(from) || is_wide(into) ? kKernel_cast_wide : kKernel_cast;
    // Elements of 8 bytes as two words; the bytes of blocks.
    const auto unit = [](uint32_t type) { return is_block(type) ? 1 : std::min(4U, sdk::dtype_info(type).bytes); };
    const Operand read = to.reads(in, unit(from));
    const Operand write = to.writes(out, unit(into));
    std::vector<Operand> operands;
    for (const Operand& operand : {read, write})
        for (const uint32_t element : {1U, 2U, 4U}) {
            operands.push_back(operand);
            operands.back().given = operand.element == element;
        }
    to.each(label, kernel, n, std::move(operands), CastParameters{.from = from, .to = into},
            is_frequent(from, into) ? std::vector<uint32_t>{from, into} : std::vector<uint32_t>{CAST_ANY, CAST_ANY});
}

namespace {

// Operand 0 as it is.
void copy_whole(Lowering& to, const Node& node) {
    const Value& whole = to[node.output];
    add_copy(to, step_label(to, node), {moved(whole.dtype, whole.elements())}, {node.inputs[0], 0, {1}},
             {node.output, 0, {1}});
}

void lower_concat(Lowering& to, const Node& node) {
    const auto axis = static_cast<size_t>(node.as<backplane::ops::ConcatAttributes>().axis.value);
    const std::vector<int64_t> strides = strides_of(to[node.output]);
    const auto bytes = static_cast<uint64_t>(sdk::dtype_info(to[node.output].dtype).bytes);
    uint64_t start = 0;
    const ValueId root = to.plan.storage_of(node.output, &start);
    if (to[node.output].in_parts) return;
    int64_t at = 0;
    for (const ValueId in : node.inputs) {
        uint64_t place = 0;
        const bool there =
            to.plan.storage_of(in, &place) == root && place == start + static_cast<uint64_t>(at * strides[axis]) * bytes;
        if (!there)
            add_copy(to, step_label(to, node), to[in].dim, {in, 0, strides_of(to[in])},
                     {node.output, at * strides[axis], strides});
        at += to[in].dim[axis];
    }
}

// Expand, Slice, Transpose, DepthToSpace, SpaceToDepth.
void lower_move(Lowering& to, const Node& node) {
    const auto copy = backend::copy_of(node, to[node.inputs[0]], to[node.output]);
    add_copy(to, step_label(to, node), copy.size, copy.from, copy.into);
}

void lower_reshape(Lowering& to, const Node& node) {
    uint64_t a = 0;
    uint64_t b = 0;
    if (to.plan.storage_of(node.inputs[0], &a) != to.plan.storage_of(node.output, &b) || a != b) copy_whole(to, node);
}

// The update in a type that a kernel reads.
ValueId rows_to_scatter(Lowering& to, const Node& node) {
    const ValueId update = node.inputs[1];
    if (to[update].dtype != BP_BF16 || to[node.inputs[0]].dtype == BP_BF16) return update;
    const ValueId made = to.plan.temporary(BP_F32, std::vector<int64_t>(to[update].dim));
    add_cast(to, update, made);
    return made;
}

// Rows of an update put into a cache, where it stands when the cache is a state.
void lower_scatter(Lowering& to, const Node& node) {
    const auto attributes = node.as<backplane::ops::TensorScatterAttributes>();
    const ValueId cache = node.inputs[0];
    const ValueId update = rows_to_scatter(to, node);
    const ValueId positions = node.input(2);
    const uint32_t type = to[cache].dtype;
    const bool quantises = to[update].dtype != type;
    const std::vector<int64_t> dim = to[cache].dim;
    const auto axis = static_cast<size_t>(attributes.axis);
    // The rest of the cache: nothing to do where it is a state that this op updates in place.
    copy_whole(to, node);
    to.plan.dispatches.back().copies = true;
    constexpr int64_t kBlock = 32;
    const auto items = [&](int64_t elements) { return quantises ? elements / kBlock : moved(type, elements); };
    const auto n = static_cast<uint64_t>(items(to[update].elements()));
    if (n == 0) return;
    const uint32_t bytes = moved_bytes(type);
    const uint32_t read = quantises ? sdk::dtype_info(to[update].dtype).bytes : bytes;
    int64_t blocks = 1;
    for (size_t d = 1; d < axis; ++d) blocks *= dim[d];
    to.each(
        step_label(to, node) + " rows",
        quantises ? variant_for_type(kKernel_scatter_f32_to_q8, to[update].dtype) : variant_for(kKernel_scatter_1, bytes), n,
        {to.reads(update, read), positions == kNone ? to.reads(update, read) : to.reads(positions, 4),
         to.writes(node.output, bytes)},
        ScatterParameters{.inner = word(items(strides_of(to[cache])[axis])),
                          .rows = word(to[update].dim[axis]),
                          .extent = word(dim[axis]),
                          .blocks = word(blocks),
                          .position_words = words_of_index(to, positions)},
        {attributes.mode == backplane::ops::ScatterMode::circular ? 1U : 0U});
    to.plan.dispatches.back().moved = n * (quantises ? sdk::dtype_info(type).bytes : bytes);
}

// Slices put where indices say; what they leave is data as it is.
void lower_scatter_nd(Lowering& to, const Node& node) {
    const ValueId data = node.inputs[0];
    const ValueId indices = node.inputs[1];
    const ValueId updates = node.inputs[2];
    copy_whole(to, node);
    to.plan.dispatches.back().copies = true;
    const auto n = static_cast<uint64_t>(to[updates].elements());
    if (n == 0) return;
    const std::vector<int64_t> dim = to[data].dim;
    const std::vector<int64_t> strides = strides_of(to[data]);
    const auto width = static_cast<size_t>(to[indices].dim.back());
    ScatterNDParameters parameters{.inner = 1,
                                   .width = static_cast<uint32_t>(width),
                                   .index_words = words_of_index(to, indices),
                                   .op = backend::reduction_of(node)};
    for (size_t d = 0; d < dim.size(); ++d) {
        if (d >= width) parameters.inner *= static_cast<uint32_t>(dim[d]);
        parameters.extents[d] = word(dim[d]);
        parameters.strides[d] = word(strides[d]);
    }
    const Operand places = to.reads(width == 0 ? updates : indices, 4);
    const std::string label = step_label(to, node) + " slices";
    if (parameters.op != BP_OP_unknown) {
        const uint32_t kernel = variant_for_number(kKernel_scatter_nd_f32, to[data].dtype);
        to.each(label, kernel, n, {places, to.reads(updates), to.reads(node.output), to.writes(node.output)}, parameters);
        return;
    }
    to.each(label, variant_for(kKernel_scatter_nd_1, sdk::dtype_info(to[data].dtype).bytes), n,
            {places, to.reads(updates), to.writes(node.output)}, parameters);
    to.plan.dispatches.back().moved = to[updates].bytes;
}

void lower_cast(Lowering& to, const Node& node) { add_cast(to, node.inputs[0], node.output); }

Verdict check_cast(const Plan& plan, const Node& node) {
    const Value& in = plan[node.inputs[0]];
    const Value& out = plan[node.output];
    if (is_block(in.dtype) && out.dtype == BP_F64)
        return {BP_WHY_DTYPE, node.text() + " does not convert " + in.text() + " to " + out.text()};
    return {};
}

// Pad; or Tile, where the operand begins anew behind its end.
void lower_pad(Lowering& to, const Node& node) {
    const Value& x = to[node.inputs[0]];
    const Value& y = to[node.output];
    PadParameters parameters{.mode = PAD_TILE, .rank = static_cast<uint32_t>(x.dim.size())};
    for (size_t d = 0; d < x.dim.size(); ++d) {
        parameters.sizes[d] = word(y.dim[d]);
        parameters.extents[d] = word(x.dim[d]);
    }
    if (node.op == BP_OP_pad) {
        const auto attributes = node.as<backplane::ops::PadAttributes>();
        const auto element = std::bit_cast<std::array<uint32_t, 2>>(backend::element_of(attributes.value, y.dtype));
        parameters.mode = static_cast<uint32_t>(attributes.mode);
        parameters.value_low = element[0];
        parameters.value_high = element[1];
        for (size_t d = 0; d < x.dim.size(); ++d) parameters.before[d] = word(attributes.pads.value[d]);
    }
    to.each(node, variant_for(kKernel_pad_1, sdk::dtype_info(y.dtype).bytes), parameters);
}

constexpr OpLowering table[] = {
    {BP_OP_cast, Types::moves, 0, check_cast, lower_cast},
    {BP_OP_concat, Types::moves, 0, nullptr, lower_concat},
    {BP_OP_slice, Types::moves, 0, nullptr, lower_move},
    {BP_OP_transpose, Types::moves, 0, nullptr, lower_move},
    {BP_OP_depth_to_space, Types::moves, 0, nullptr, lower_move},
    {BP_OP_expand, Types::moves, 0, nullptr, lower_move},
    {BP_OP_space_to_depth, Types::moves, 0, nullptr, lower_move},
    {BP_OP_reshape, Types::moves, 0, nullptr, lower_reshape},
    {BP_OP_tensor_scatter, Types::moves, 0, nullptr, lower_scatter},
    {BP_OP_pad, Types::moves, 0, nullptr, lower_pad},
    {BP_OP_tile, Types::moves, 0, nullptr, lower_pad},
    {BP_OP_scatter_nd, backend::types_of_scatter, 0, nullptr, lower_scatter_nd},
};

}  // namespace

const OpFamily ops_moves = {table, std::size(table)};

}  // namespace backplane::gpu::ops::moves
