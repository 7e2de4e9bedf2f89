// Fusion: what follows a convolution or matrix product becomes its epilogue, so that the result is stored once.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/gpu/plan.hpp"

namespace backplane::gpu {

namespace {

// As the kernels' epilogue: parameters for six steps, two other operands, one function beyond the cheap ones.
constexpr size_t kMostEpilogueOps = 6;
constexpr int64_t kMostResiduals = 2;

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
    if (value.role != BP_ROLE_CONSTANT || value.elements() != 1) return false;
    if (value.dtype == BP_F32) {
        std::memcpy(out, value.constant.data(), sizeof *out);
        return true;
    }
    if (value.dtype != BP_F16) return false;
    uint16_t bits = 0;
    std::memcpy(&bits, value.constant.data(), sizeof bits);
    const int power = bits >> 10 & 31;
    if (power == 31) return false;
    const int digits = (bits & 1023) + (power != 0 ? 1024 : 0);
    *out = std::ldexp(static_cast<float>(digits), std::max(power, 1) - 25);
    if (bits >> 15 != 0) *out = -*out;
    return true;
}

// A vector over the result's columns: a bias of a matrix product.
bool is_row(const Plan& plan, ValueId id, int64_t columns) {
    const Value& value = plan[id];
    return !value.dim.empty() && value.dim.back() == columns && value.elements() == columns;
}

bool is_cheap(uint32_t op) { return op == BP_OP_relu || op == BP_OP_leaky_relu || op == BP_OP_clip; }

bool is_function(uint32_t op) {
    return op == BP_OP_sigmoid || op == BP_OP_tanh || op == BP_OP_gelu || op == BP_OP_silu || op == BP_OP_softplus;
}

int64_t count_of(const Node& node, PostOp::Kind kind) {
    return std::count_if(node.post.begin(), node.post.end(), [&](const PostOp& p) { return p.kind == kind; });
}

bool unary_post(const Node& before, const Node& node, PostOp* out) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (!is_cheap(node.op) && !is_function(node.op)) return false;
    const bool other_function = std::any_of(before.post.begin(), before.post.end(),
                                            [](const PostOp& p) { return p.kind == PostOp::unary && is_function(p.op); });
    if (is_function(node.op) && other_function) return false;
    *out = {PostOp::unary, node.op, 0, 0, kNone};
    if (node.op == BP_OP_leaky_relu) out->a = node.number(BP_ATTR_alpha, 0.01);
    if (node.op == BP_OP_gelu) out->a = static_cast<float>(node.integer(BP_ATTR_approximate, 0));
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
    const Value& result = plan[before.output];
    float factor = 0;
    if (node.op == BP_OP_mul) {
        if (!scalar_constant(plan, other, &factor)) return false;
        *out = {PostOp::scale, 0, factor, 0, kNone};
        return true;
    }
    if (plan[other].dtype != result.dtype) return false;
    if (before.op == BP_OP_matmul && count_of(before, PostOp::bias) == 0 && is_row(plan, other, result.dim.back())) {
        *out = {PostOp::bias, 0, 0, 0, other};
        return true;
    }
    if (plan[other].dim != result.dim || count_of(before, PostOp::add) >= kMostResiduals) return false;
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
    if (!unary_post(before, node, &post) && !binary_post(plan, before, node, &post)) return false;
    if (plan[node.output].dim != plan[before.output].dim || plan[node.output].dtype != plan[before.output].dtype)
        return false;
    Node fused = before;
    fused.post.push_back(post);
    fused.output = node.output;
    plan.nodes[user] = std::move(fused);
    plan.nodes.erase(plan.nodes.begin() + at);
    return true;
}

}  // namespace

void fuse(Plan& plan) {
    drop_unread(plan);
    take_bias(plan);
    for (uint32_t i = 0; i < plan.nodes.size();)
        if (!absorb(plan, i)) ++i;
    drop_unread(plan);
}

}  // namespace backplane::gpu
