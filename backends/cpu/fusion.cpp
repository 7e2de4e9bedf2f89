// Fusion: what follows a convolution or matrix product becomes its epilogue, so that the result is stored once; concatenations
// that only convolutions read are never made.
#include "common/fusion.hpp"

#include <algorithm>

#include "common/gates.hpp"
#include "kernels/conv.h"
#include "plan.hpp"

namespace backplane::cpu {

namespace {

std::optional<PostOp> post_of(const Plan& plan, const Node& before, const Node& node) {
    if (epilogue_does(node.op)) return backend::function_post(node);
    const ValueId other = backend::joined_with(node, before.output);
    if (other == kNone) return std::nullopt;
    const Value& value = plan[other];
    const Value& result = plan[before.output];
    if (node.op == BP_OP_mul) return backend::scale_post(value);
    if (value.dtype != BP_F32) return std::nullopt;
    if (before.op == BP_OP_matmul && backend::is_row(value, result.dim.back())) return PostOp{PostOp::bias, 0, 0, 0, other};
    if (value.dim != result.dim) return std::nullopt;
    // Weights and constants are not laid out anew; the plain operand of a channels-last result would be.
    if (backend::is_convolution(before.op) && (value.role == BP_ROLE_WEIGHT || value.role == BP_ROLE_CONSTANT))
        return std::nullopt;
    return PostOp{PostOp::add, 0, 0, 0, other};
}

// Operands of a concatenation over channels that may stand in its place.
bool flatten(const Plan& plan, const backend::Readers& readers, ValueId id, std::vector<ValueId>& out, int depth = 0) {
    const uint32_t maker = readers.maker(id);
    const bool concat = maker != kNone && plan.nodes[maker].op == BP_OP_concat &&
                        plan.nodes[maker].as<backplane::ops::ConcatAttributes>().axis.value == 1;
    if (!concat || depth > 16 || out.size() > kMostSegments) {
        out.push_back(id);
        return concat;
    }
    for (const ValueId in : plan.nodes[maker].inputs) flatten(plan, readers, in, out, depth + 1);
    return true;
}

void read_segments(Plan& plan) {
    const backend::Readers readers(plan);
    for (Node& node : plan.nodes) {
        if (node.op != BP_OP_conv || node.as<backplane::ops::ConvAttributes>().group != 1) continue;
        if (plan[node.inputs[0]].dim.size() == 5) continue;  // its slices are summed where the segments would be
        std::vector<ValueId> segments;
        flatten(plan, readers, node.inputs[0], segments);
        if (segments.size() < 2 || segments.size() > kMostSegments) continue;
        node.inputs.resize(3, kNone);
        node.inputs[0] = segments[0];
        node.inputs.insert(node.inputs.end(), segments.begin() + 1, segments.end());
    }
}

// A map of one number for each row of `map`.
bool is_of_rows(const Value& value, const Value& map) {
    return value.dtype == BP_F32 && value.dim.size() == 4 && (value.dim[0] == 1 || value.dim[0] == map.dim[0]) &&
           value.dim[1] == 1 && (value.dim[2] == 1 || value.dim[2] == map.dim[2]) && value.dim[3] == 1;
}

// Of few products for each number, so that making some rows twice costs little beside writing and reading all of them.
bool begins_pair(const Plan& plan, const Node& node) {
    constexpr int64_t kMostProducts = 32;
    if (node.op != BP_OP_conv || node.inputs.size() > 3 || plan[node.inputs[0]].dim.size() != 4) return false;
    if (plan[node.inputs[0]].dtype != BP_F32 || node.as<backplane::ops::ConvAttributes>().group != 1) return false;
    const std::vector<int64_t>& w = plan[node.inputs[1]].dim;
    const std::vector<int64_t>& y = plan[node.output].dim;
    const bool adds = std::any_of(node.post.begin(), node.post.end(), [](const PostOp& p) { return p.kind == PostOp::add; });
    return !adds && w[2] * w[3] > 1 && w[1] * w[2] * w[3] <= kMostProducts && y[3] > 1;
}

// With steps along rows: others need no channels side by side (conv.cpp), and go by planes.
bool ends_pair(const Plan& plan, const Node& node) {
    constexpr int64_t kMostFloats = 1 << 18;  // of the rows that one row of the result reads
    if (node.op != BP_OP_conv || node.inputs.size() > 3 || plan[node.inputs[0]].dim.size() != 4) return false;
    const auto attributes = node.as<backplane::ops::ConvAttributes>().filled(2);
    const std::vector<int64_t>& w = plan[node.inputs[1]].dim;
    const std::vector<int64_t>& x = plan[node.inputs[0]].dim;
    if (plan[node.output].dtype != BP_F32 || attributes.group != x[1] || w[0] != x[1] || w[0] < 2) return false;
    const int64_t rows = (w[2] - 1) * attributes.dilations[0] + 1;
    return attributes.strides[1] > 1 && plan[node.output].dim[3] > 1 && rows <= 2 * attributes.strides[0] + 1 &&
           rows * x[1] * x[3] <= kMostFloats;
}

// What makes `value` for this reader alone; kNone: nobody, or others read it, too.
uint32_t maker_for_one(const Plan& plan, const backend::Readers& readers, ValueId value) {
    if (plan[value].role != BP_ROLE_TEMPORARY || readers.only(value) == kNone) return kNone;
    return readers.maker(value);
}

void pair_convolutions(Plan& plan) {
    const backend::Readers readers(plan);
    for (Node& node : plan.nodes) {
        if (!ends_pair(plan, node)) continue;
        uint32_t at = maker_for_one(plan, readers, node.inputs[0]);
        ValueId mask = kNone;
        if (at != kNone && plan.nodes[at].op == BP_OP_mul && plan.nodes[at].post.empty()) {
            const Node& mul = plan.nodes[at];
            const size_t of = mul.inputs[0] != mul.inputs[1] && is_of_rows(plan[mul.inputs[0]], plan[mul.output]) ? 0 : 1;
            mask = mul.inputs[of];
            if (!is_of_rows(plan[mask], plan[mul.output]) || plan[mul.inputs[1 - of]].dim != plan[mul.output].dim) continue;
            at = maker_for_one(plan, readers, mul.inputs[1 - of]);
        }
        if (at == kNone || !begins_pair(plan, plan.nodes[at])) continue;
        const Node& first = plan.nodes[at];
        const ConvPair pair{first, node, mask != kNone};
        node.op = kOpConvPair;
        node.part = static_cast<uint32_t>(plan.pairs.size());
        node.inputs = {first.inputs[0], first.inputs[1], node.inputs[1], mask};
        for (const PostOp& post : first.post)
            if (post.value != kNone) node.inputs.push_back(post.value);
        plan.pairs.push_back(pair);
    }
}

}  // namespace

void fuse(Plan& plan) {
    backend::fuse_gates(plan);
    backend::drop_unread(plan);
    backend::take_bias(plan);
    read_segments(plan);
    backend::fill_epilogues(plan, kMostEpilogueOps,
                            [&](const Node& before, const Node& node) { return post_of(plan, before, node); });
    pair_convolutions(plan);
    place_heads(plan);
    backend::drop_unread(plan);
}

}  // namespace backplane::cpu
