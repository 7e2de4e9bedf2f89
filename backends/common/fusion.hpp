// Fusion: what follows a convolution or matrix product becomes its epilogue, so that the result is stored once. What an epilogue takes is
// for each backend to say.
#pragma once

#include <optional>

#include "common/plan.hpp"

namespace backplane::backend {

// The ops that an epilogue follows as it does Conv.
constexpr bool is_convolution(uint32_t op) { return op == BP_OP_conv || op == BP_OP_conv_transpose; }

void drop_unread(PlanNodes& plan);

// The bias of a convolution is the first thing its epilogue does.
void take_bias(PlanNodes& plan);

// A function and its attributes.
PostOp function_post(const Node& node);
// A constant of one element, f32 or f16, as the factor of a scaling.
std::optional<PostOp> scale_post(const Value& factor);
// A vector over the result's columns: a bias of a matrix product.
bool is_row(const Value& value, int64_t columns);
// What the Add or Mul `node` joins with `known`; kNone: it is neither, or joins it with itself.
ValueId joined_with(const Node& node, ValueId known);

// Moves the node after `at`, of an op that `begins`, into its epilogue when nothing else reads the value between. The fused node takes the
// place of the later one, so that all it reads has been written; what is left at `at` does nothing.
template <typename Plan, typename Begins, typename PostOf>
bool absorb(Plan& plan, Readers& readers, uint32_t at, size_t most, const Begins& begins, const PostOf& post_of) {
    FusedNode& before = plan.nodes[at];
    if (!begins(before) || before.post.size() >= most) return false;
    if (plan[before.output].role != BP_ROLE_TEMPORARY) return false;
    const uint32_t user = readers.only(before.output);
    if (user == kNone) return false;
    FusedNode& node = plan.nodes[user];
    const std::optional<PostOp> post = post_of(before, node);
    if (!post || plan[node.output].dim != plan[before.output].dim || plan[node.output].dtype != plan[before.output].dtype)
        return false;
    readers.drop(before, at);
    readers.drop(node, user);
    before.post.push_back(*post);
    before.output = node.output;
    node = std::move(before);
    readers.add(node, user);
    return true;
}

// `post_of(before, node)`: what `node` would be in the epilogue of `before`, if it can be, of `most` steps.
template <typename Plan, typename Begins, typename PostOf>
void fill_epilogues_of(Plan& plan, size_t most, const Begins& begins, const PostOf& post_of) {
    Readers readers(plan);
    std::vector<FusedNode> kept;
    kept.reserve(plan.nodes.size());
    for (uint32_t i = 0; i < plan.nodes.size(); ++i)
        if (!absorb(plan, readers, i, most, begins, post_of)) kept.push_back(std::move(plan.nodes[i]));
    plan.nodes = std::move(kept);
}

// Of convolutions and products.
template <typename Plan, typename PostOf>
void fill_epilogues(Plan& plan, size_t most, const PostOf& post_of) {
    const auto begins = [](const FusedNode& node) { return is_convolution(node.op) || node.op == BP_OP_matmul; };
    fill_epilogues_of(plan, most, begins, post_of);
}

}  // namespace backplane::backend
