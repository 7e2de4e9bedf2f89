// Values that are part of another value's bytes: reshaped values are their operand's, and what a concatenation joins is written where
// it will stand. The nested concatenations of dense blocks become one piece of memory that grows by a part at a time.
#include <algorithm>
#include <utility>

#include "common/gpu/plan.hpp"

namespace backplane::gpu {

namespace {

bool is_movable(const Plan& plan, ValueId id) {
    return plan[id].role == BP_ROLE_TEMPORARY && plan[id].state == kNone && plan[id].inside == kNone && !plan.is_output(id);
}

void share_reshaped(Plan& plan) {
    for (const Node& node : plan.nodes)
        if (node.op == BP_OP_reshape && is_movable(plan, node.output) && plan[node.inputs[0]].role != BP_ROLE_CONSTANT)
            plan[node.output].inside = node.inputs[0];
}

void share_concatenated(Plan& plan, const Node& node) {
    const ValueId out = node.output;
    const auto axis = static_cast<size_t>(node.as<backplane::ops::ConcatAttributes>().axis.value);
    for (size_t d = 0; d < axis; ++d)
        if (plan[out].dim[d] != 1) return;
    // Where the operands stand one behind the other already the result is a name for that stretch.
    uint64_t at = 0;
    uint64_t end = 0;
    const ValueId root = plan.storage_of(node.inputs[0], &at);
    const bool together = std::ranges::all_of(node.inputs, [&](ValueId in) {
        uint64_t place = 0;
        return plan.storage_of(in, &place) == root && place == at + std::exchange(end, end + plan[in].bytes);
    });
    if (together && node.inputs.size() > 1 && is_movable(plan, out) && root != out) {
        plan[out].inside = root;
        plan[out].inside_at = at;
        return;
    }
    uint64_t next = 0;
    for (const ValueId in : node.inputs) {
        // The root of a chain moves with all that lies in it.
        uint64_t place = 0;
        const ValueId from = plan.storage_of(in, &place);
        const bool whole = place == 0 && plan[from].bytes == plan[in].bytes;
        if (whole && is_movable(plan, from) && from != plan.storage_of(out)) {
            plan[from].inside = out;
            plan[from].inside_at = next;
        }
        next += plan[in].bytes;
    }
}

}  // namespace

void share_storage(Plan& plan) {
    share_reshaped(plan);
    std::vector<const Node*> concats;
    for (const Node& node : plan.nodes)
        if (node.op == BP_OP_concat) concats.push_back(&node);
    // Largest first: it offers a place to all that the smaller ones join.
    std::stable_sort(concats.begin(), concats.end(),
                     [&](const Node* a, const Node* b) { return plan[a->output].bytes > plan[b->output].bytes; });
    for (const Node* node : concats) share_concatenated(plan, *node);
}

}  // namespace backplane::gpu
