// Fusion: what follows a convolution or matrix product becomes its epilogue, so that the result is stored once; concatenations
// that only convolutions read are never made.
#include "common/fusion.hpp"
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

}  // namespace

void fuse(Plan& plan) {
    backend::fuse_gates(plan);
    backend::drop_unread(plan);
    backend::take_bias(plan);
    read_segments(plan);
    backend::fill_epilogues(plan, kMostEpilogueOps,
                            [&](const Node& before, const Node& node) { return post_of(plan, before, node); });
    backend::drop_unread(plan);
}

}  // namespace backplane::cpu
