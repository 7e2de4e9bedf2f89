// Heads of attention that Split, Reshape and Transpose make of rows which have them side by side: read, and written, where they lie.
#include <algorithm>

#include "common/strided.hpp"
#include "plan.hpp"

namespace backplane::cpu {

namespace {

const Node* maker_of(const Plan& plan, const backend::Readers& readers, ValueId value, uint32_t op) {
    const uint32_t at = readers.maker(value);
    return at != kNone && plan.nodes[at].op == op && plan.nodes[at].post.empty() ? &plan.nodes[at] : nullptr;
}

// The second axis and the third change places.
bool turns_heads(const Node& node, size_t rank) {
    return node.op == BP_OP_transpose && rank == 4 &&
           backend::transpose_order(node, rank) == std::vector<size_t>{0, 2, 1, 3};
}

// Of some of the last axis and all of the others.
bool cuts_rows(const Node& node, const Value& from) {
    const auto slice = node.as<backplane::ops::SliceAttributes>();
    const size_t last = from.dim.size() - 1;
    for (size_t d = 0; d <= last; ++d) {
        if (d < slice.steps.size() && slice.steps[d] != 1) return false;
        if (d < last && (slice.starts.value[d] != 0 || slice.ends.value[d] != from.dim[d])) return false;
    }
    return true;
}

// `value`: set to what has the rows.
HeadRows rows_of(const Plan& plan, const backend::Readers& readers, ValueId heads, ValueId& value) {
    if (heads == kNone || plan[heads].dtype != BP_F32 || plan[heads].dim.size() != 4) return {};
    const Node* turn = maker_of(plan, readers, heads, BP_OP_transpose);
    if (turn == nullptr || !turns_heads(*turn, 4)) return {};
    const Node* split = maker_of(plan, readers, turn->inputs[0], BP_OP_reshape);
    if (split == nullptr) return {};
    const std::vector<int64_t>& dim = plan[turn->inputs[0]].dim;
    HeadRows rows{heads, 0, 0, dim[2] * dim[3]};
    value = split->inputs[0];
    if (plan[value].dim != std::vector<int64_t>{dim[0], dim[1], rows.row}) return {};
    if (const Node* cut = maker_of(plan, readers, value, BP_OP_slice);
        cut != nullptr && cuts_rows(*cut, plan[cut->inputs[0]])) {
        value = cut->inputs[0];
        rows.offset = cut->as<backplane::ops::SliceAttributes>().starts.value[2];
        rows.row = plan[value].dim[2];
    }
    if (plan[value].role == BP_ROLE_CONSTANT) return {};
    rows.sample = dim[1] * rows.row;
    return rows;
}

// The Transpose that alone reads the result becomes part of it; what it would make itself nobody reads then.
HeadRows take_transpose(Plan& plan, const backend::Readers& readers, Node& node) {
    const ValueId heads = node.output;
    const uint32_t user = readers.only(heads);
    if (plan[heads].role != BP_ROLE_TEMPORARY || plan[heads].dtype != BP_F32 || user == kNone) return {};
    if (!turns_heads(plan.nodes[user], plan[heads].dim.size()) || !plan.nodes[user].post.empty()) return {};
    std::swap(node.output, plan.nodes[user].output);
    const std::vector<int64_t>& dim = plan[heads].dim;
    const int64_t row = dim[1] * dim[3];
    return {heads, 0, dim[2] * row, row};
}

}  // namespace

void place_heads(Plan& plan) {
    const backend::Readers readers(plan);
    for (Node& node : plan.nodes) {
        if (node.op != BP_OP_attention) continue;
        std::array<HeadRows, 4> heads;
        for (size_t k = 0; k < 3; ++k) {
            ValueId value = kNone;
            heads[k] = rows_of(plan, readers, node.inputs[k], value);
            if (heads[k].shape != kNone) node.inputs[k] = value;
        }
        heads[3] = take_transpose(plan, readers, node);
        if (std::all_of(heads.begin(), heads.end(), [](const HeadRows& rows) { return rows.shape == kNone; })) continue;
        plan.heads.push_back(heads);
        node.part = static_cast<uint32_t>(plan.heads.size());
    }
}

}  // namespace backplane::cpu
