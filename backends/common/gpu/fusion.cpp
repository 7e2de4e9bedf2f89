// Fusion: what follows a convolution or matrix product becomes its epilogue, so that the result is stored once.
#include <algorithm>

#include "common/elementwise.hpp"
#include "common/fusion.hpp"
#include "common/gates.hpp"
#include "common/gpu/kernel_words.hpp"
#include "common/gpu/plan.hpp"

namespace backplane::gpu {

namespace {

// As the kernels' epilogue: parameters for six steps, two other operands, one function beyond the cheap ones.
constexpr size_t kMostEpilogueOps = EPILOGUE_STEPS;
constexpr int64_t kMostResiduals = 2;

bool is_cheap(uint32_t op) { return op == BP_OP_relu || op == BP_OP_leaky_relu || op == BP_OP_clip; }

bool is_function(uint32_t op) { return !is_cheap(op) && backend::is_elementwise(op, 1); }

int64_t count_of(const Node& node, PostOp::Kind kind) {
    return std::count_if(node.post.begin(), node.post.end(), [&](const PostOp& p) { return p.kind == kind; });
}

std::optional<PostOp> post_of(const Plan& plan, const Node& before, const Node& node) {
    if (is_cheap(node.op)) return backend::function_post(node);
    if (is_function(node.op)) {
        const bool another = std::any_of(before.post.begin(), before.post.end(),
                                         [](const PostOp& p) { return p.kind == PostOp::unary && is_function(p.op); });
        return another ? std::nullopt : std::optional(backend::function_post(node));
    }
    const ValueId other = backend::joined_with(node, before.output);
    if (other == kNone) return std::nullopt;
    const Value& value = plan[other];
    const Value& result = plan[before.output];
    if (node.op == BP_OP_mul) return backend::scale_post(value);
    if (value.dtype != result.dtype) return std::nullopt;
    if (before.op == BP_OP_matmul && count_of(before, PostOp::bias) == 0 && backend::is_row(value, result.dim.back()))
        return PostOp{PostOp::bias, 0, 0, 0, other};
    if (value.dim != result.dim || count_of(before, PostOp::add) >= kMostResiduals) return std::nullopt;
    return PostOp{PostOp::add, 0, 0, 0, other};
}

}  // namespace

void fuse(Plan& plan) {
    backend::fuse_gates(plan);
    backend::drop_unread(plan);
    backend::take_bias(plan);
    backend::fill_epilogues(plan, kMostEpilogueOps,
                            [&](const Node& before, const Node& node) { return post_of(plan, before, node); });
    keep_channels_last(plan);
    backend::drop_unread(plan);
}

}  // namespace backplane::gpu
