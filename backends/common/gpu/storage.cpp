// Values that are part of another value's bytes: reshaped values are their operand's, and what a concatenation joins is written where
// it will stand. The nested concatenations of dense blocks become one piece of memory that grows by a part at a time.
#include <algorithm>

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

// Do the operands stand one behind the other already? Then the result is a name for that stretch.
bool stand_together(const Plan& plan, const Node& node, ValueId* root, uint64_t* at) {
    uint64_t next = 0;
    *root = plan.storage_of(node.inputs[0], at);
    for (const ValueId in : node.inputs) {
        uint64_t place = 0;
        if (plan.storage_of(in, &place) != *root || place != *at + next) return false;
        next += plan[in].bytes;
    }
    return node.inputs.size() > 1;
}

void share_concatenated(Plan& plan, const Node& node) {
    const ValueId out = node.output;
    const auto axis = static_cast<size_t>(node.as<backplane::ops::ConcatAttributes>().axis.value);
    for (size_t d = 0; d < axis; ++d)
        if (plan[out].dim[d] != 1) return;
    ValueId root = kNone;
    uint64_t at = 0;
    if (is_movable(plan, out) && stand_together(plan, node, &root, &at) && root != out) {
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
