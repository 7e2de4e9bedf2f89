// Fusion: what follows a convolution or matrix product becomes its epilogue, so that the result is stored once; concatenations
// that only convolutions read are never made.
#include <algorithm>

#include "kernels/conv.h"
#include "plan.hpp"

namespace backplane::cpu {

namespace {

bool has_epilogue(const Node& node) { return node.op == BP_OP_conv || node.op == BP_OP_matmul; }

void drop_unread(Plan& plan) {
    std::vector<bool> read(plan.values.size());
    for (const ValueId id : plan.outputs) read[id] = true;
    std::vector<Node> kept;
    for (size_t i = plan.nodes.size(); i-- > 0;) {
        Node& node = plan.nodes[i];
        if (!read[node.output]) continue;
        for (const ValueId in : node.inputs)
            if (in != kNone) read[in] = true;
        for (const PostOp& post : node.post)
            if (post.value != kNone) read[post.value] = true;
        kept.push_back(std::move(node));
    }
    std::reverse(kept.begin(), kept.end());
    plan.nodes = std::move(kept);
}

// The bias of a convolution is the first thing its epilogue does.
void take_bias(Plan& plan) {
    for (Node& node : plan.nodes) {
        if (node.op != BP_OP_conv || node.input(2) == kNone) continue;
        node.post.push_back({PostOp::bias, 0, 0, 0, node.inputs[2]});
        node.inputs[2] = kNone;
    }
}

// A constant of one element, as the factor of a scaling.
bool scalar_constant(const Plan& plan, ValueId id, float* out) {
    const Value& value = plan[id];
    if (value.role != BP_ROLE_CONSTANT || value.dtype != BP_F32 || value.elements() != 1) return false;
    std::memcpy(out, value.constant.data(), sizeof *out);
    return true;
}

// A vector over the result's columns: a bias of a matrix product.
bool is_row(const Plan& plan, ValueId id, int64_t columns) {
    const Value& value = plan[id];
    return !value.dim.empty() && value.dim.back() == columns && value.elements() == columns;
}

bool unary_post(const Node& node, PostOp* out) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (!epilogue_does(node.op)) return false;
    *out = {PostOp::unary, node.op, 0, 0, kNone};
    if (node.op == BP_OP_leaky_relu) out->a = node.number(BP_ATTR_alpha, 0.01);
    if (node.op == BP_OP_clip) {
        out->a = node.number(BP_ATTR_least, -infinity);
        out->b = node.number(BP_ATTR_most, infinity);
    }
    return true;
}

bool binary_post(const Plan& plan, const Node& before, const Node& node, PostOp* out) {
    if ((node.op != BP_OP_add && node.op != BP_OP_mul) || node.inputs.size() != 2 || node.inputs[0] == node.inputs[1])
        return false;
    const ValueId other = node.inputs[0] == before.output ? node.inputs[1] : node.inputs[0];
    float factor = 0;
    if (node.op == BP_OP_mul) {
        if (!scalar_constant(plan, other, &factor)) return false;
        *out = {PostOp::scale, 0, factor, 0, kNone};
        return true;
    }
    const Value& result = plan[before.output];
    if (before.op == BP_OP_matmul && plan[other].dtype == BP_F32 && is_row(plan, other, result.dim.back()) &&
        plan[node.output].dim == result.dim) {
        *out = {PostOp::bias, 0, 0, 0, other};
        return true;
    }
    if (plan[other].dim != result.dim || plan[other].dtype != BP_F32) return false;
    // Weights and constants are not laid out anew; the plain operand of a channels-last result would be.
    if (before.op == BP_OP_conv && (plan[other].role == BP_ROLE_WEIGHT || plan[other].role == BP_ROLE_CONSTANT))
        return false;
    *out = {PostOp::add, 0, 0, 0, other};
    return true;
}

// Moves the node after `at` into its epilogue when nothing else reads the value between. The fused node takes the place of the
// later one, so that all it reads has been written.
bool absorb(Plan& plan, uint32_t at) {
    const Node& before = plan.nodes[at];
    if (!has_epilogue(before) || before.post.size() >= kMostEpilogueOps) return false;
    const uint32_t user = plan.only_user(before.output);
    if (user == kNone) return false;
    const Node& node = plan.nodes[user];
    PostOp post;
    if (!unary_post(node, &post) && !binary_post(plan, before, node, &post)) return false;
    if (plan[node.output].dim != plan[before.output].dim || plan[node.output].dtype != BP_F32) return false;
    Node fused = before;
    fused.post.push_back(post);
    fused.output = node.output;
    plan.nodes[user] = std::move(fused);
    plan.nodes.erase(plan.nodes.begin() + at);
    return true;
}

// Operands of a concatenation over channels that may stand in its place.
bool flatten(const Plan& plan, ValueId id, std::vector<ValueId>& out, int depth = 0) {
    const uint32_t maker = plan.producer(id);
    const bool concat =
        maker != kNone && plan.nodes[maker].op == BP_OP_concat && plan.nodes[maker].integer(BP_ATTR_axis, 0) == 1;
    if (!concat || depth > 16) {
        out.push_back(id);
        return concat;
    }
    for (const ValueId in : plan.nodes[maker].inputs) flatten(plan, in, out, depth + 1);
    return true;
}

void read_segments(Plan& plan) {
    for (Node& node : plan.nodes) {
        if (node.op != BP_OP_conv || node.integer(BP_ATTR_group, 1) != 1) continue;
        std::vector<ValueId> segments;
        flatten(plan, node.inputs[0], segments);
        if (segments.size() < 2 || segments.size() > kMostSegments) continue;
        node.inputs.resize(3, kNone);
        node.inputs[0] = segments[0];
        node.inputs.insert(node.inputs.end(), segments.begin() + 1, segments.end());
    }
}

}  // namespace

void fuse(Plan& plan) {
    drop_unread(plan);
    take_bias(plan);
    read_segments(plan);
    for (uint32_t i = 0; i < plan.nodes.size();)
        if (!absorb(plan, i)) ++i;
    drop_unread(plan);
}

}  // namespace backplane::cpu
