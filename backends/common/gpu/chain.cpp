#include "common/gpu/chain.hpp"

#include <algorithm>

#include "common/elementwise.hpp"
#include "common/fusion.hpp"
#include "common/gpu/kernel_words.hpp"
#include "common/strided.hpp"

namespace backplane::gpu {

namespace {

bool is_floating(uint32_t dtype) { return dtype == BP_F32 || dtype == BP_F16; }

// The operands beside the one that begins it, each once.
size_t others_of(const Node& node, ValueId another) {
    std::vector<ValueId> seen;
    const auto note = [&](ValueId id) {
        if (id != kNone && std::find(seen.begin(), seen.end(), id) == seen.end()) seen.push_back(id);
    };
    for (size_t i = 1; i < node.inputs.size(); ++i) note(node.inputs[i]);
    for (const PostOp& post : node.post) note(post.value);
    note(another);
    return seen.size();
}

bool begins(const Plan& plan, const Node& node) {
    const Value& result = plan[node.output];
    return is_floating(result.dtype) && (backend::is_elementwise(node.op, 1) || backend::is_elementwise(node.op, 2)) &&
           std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) {
               return plan[in].dtype == result.dtype && repeats_of(plan[in], result.dim).has_value();
           });
}

std::optional<PostOp> step_of(const Plan& plan, const Node& before, const Node& node) {
    if (!node.post.empty()) return std::nullopt;
    if (backend::is_elementwise(node.op, 1)) return backend::function_post(node);
    if (!backend::is_elementwise(node.op, 2)) return std::nullopt;
    const bool second = node.inputs[1] == before.output;
    const ValueId other = node.inputs[second ? 0 : 1];
    const bool fits = plan[other].dtype == plan[node.output].dtype && repeats_of(plan[other], plan[node.output].dim) &&
                      others_of(before, other) <= CHAIN_OTHERS;
    return fits ? std::optional(PostOp{PostOp::binary, node.op, second ? 1.0F : 0.0F, 0, other}) : std::nullopt;
}

}  // namespace

std::optional<Repeats> repeats_of(const Value& value, const std::vector<int64_t>& dim) {
    backend::Loops<1> loops;
    const std::vector<int64_t> strides = backend::broadcast_strides(value, dim);
    for (size_t d = 0; d < dim.size(); ++d) loops.add(d, dim, {strides});
    const std::vector<int64_t>& stride = loops.stride[0];
    const auto moving = std::find_if(stride.begin(), stride.end(), [](int64_t s) { return s != 0; });
    if (moving == stride.end()) return Repeats{1, 1};
    const auto at = static_cast<size_t>(moving - stride.begin());
    if (*moving != 1 || at > 1 || stride.size() > at + 2 || (at + 1 < stride.size() && stride[at + 1] != 0))
        return std::nullopt;
    if (stride.size() == 1) return Repeats{};
    return Repeats{at + 1 < stride.size() ? static_cast<uint32_t>(loops.size[at + 1]) : 1U,
                   static_cast<uint32_t>(loops.size[at])};
}

void join_chains(Plan& plan) {
    backend::fill_epilogues_of(
        plan, CHAIN_STEPS - 1, [&](const Node& node) { return begins(plan, node); },
        [&](const Node& before, const Node& node) { return step_of(plan, before, node); });
}

}  // namespace backplane::gpu
