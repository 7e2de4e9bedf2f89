#include "common/gpu/compile.hpp"

#include "common/blocks.hpp"
#include "common/fusion.hpp"
#include "common/gpu/chain.hpp"
#include "common/gpu/lowering.hpp"
#include "common/gpu/ops/attention.hpp"
#include "common/gpu/ops/blocks.hpp"
#include "common/gpu/ops/conv_windows.hpp"
#include "common/query.hpp"
#include "common/recurrent.hpp"

namespace backplane::gpu {

namespace {

void lower_all(Plan& plan, const Abilities& can, const volatile uint32_t* cancel) {
    Lowering to(plan, can);
    choose_bundles(to);
    for (size_t i = 0; i < plan.nodes.size(); ++i) {
        if (raised(cancel)) throw sdk::Failure(BP_CANCELLED, "compile was cancelled");
        find_lowering(plan.nodes[i].op)->lower(to, plan.nodes[i]);
    }
    to.place_first();
    place_states(plan);
    for (const Dispatch& d : plan.dispatches)
        if (d.operands.size() > kMostOperands || d.parameters.size() > PARAMETER_WORDS)
            throw sdk::Failure(BP_INTERNAL, "compile: " + d.label + " has too many operands or parameters");
}

// Constants that dispatches read.
void find_residents(Plan& plan) {
    std::vector<bool> resident(plan.values.size());
    for (const auto* dispatches : {&plan.dispatches, &plan.once})
        for (const Dispatch& d : *dispatches)
            for (const Operand& operand : d.operands) {
                const ValueId id = plan.storage_of(operand.value);
                if (plan[id].role != BP_ROLE_CONSTANT || resident[id]) continue;
                resident[id] = true;
                plan.residents.push_back(id);
            }
}

// Which dispatches touch each slot.
void find_uses(Plan& plan) {
    std::vector<Slot*> slots(plan.values.size());
    for (Slot& slot : plan.slots) slots[slot.value] = &slot;
    for (size_t i = 0; i < plan.dispatches.size(); ++i)
        for (const Operand& operand : plan.dispatches[i].operands) {
            Slot* slot = slots[plan.storage_of(operand.value)];
            if (slot == nullptr) continue;
            slot->last_use = static_cast<uint32_t>(i + 1);
            if (slot->first_use == 0) slot->first_use = slot->last_use;
        }
}

}  // namespace

Plan make_plan(const bp_graph* graph, const bp_compile& how, const Abilities& can) {
    Plan plan = import_graph(graph);
    plan.math = how.math;
    for (const Node& node : plan.nodes) {
        const Verdict verdict = check_node(plan, node, can);
        if (verdict.reason != BP_WHY_NONE)
            throw sdk::Failure(BP_UNSUPPORTED, "compile: " + verdict.text + "; run this node elsewhere (see query)");
    }
    for (const ValueId id : plan.bound()) {
        Slot slot;
        slot.value = id;
        slot.tensor = plan[id].tensor;
        slot.bytes = slot.plain_bytes = plan[id].bytes;
        plan.slots.push_back(std::move(slot));
    }
    backend::expand_recurrent(plan);
    const backend::Readers readers(plan);
    backend::decode_gathered(plan, [&](const Node& node) { return is_read_as_planes(plan, readers, node.inputs[0]); });
    fit_types(plan);
    fuse(plan);
    ops::conv::take_factors(plan, can);
    ops::attention::take_as_they_lie(plan, can);
    backend::drop_unread(plan);
    if (can.chains) join_chains(plan);
    share_storage(plan);
    lower_all(plan, can, how.cancel);
    find_residents(plan);
    find_uses(plan);
    plan_memory(plan, can.storage_alignment);
    if (how.workspace_limit != 0 && plan.workspace_bytes > how.workspace_limit)
        throw sdk::Failure(BP_NO_DEVICE_MEMORY, "compile: the workspace needs " + std::to_string(plan.workspace_bytes) +
                                                    " bytes, the limit is " + std::to_string(how.workspace_limit) +
                                                    "; split the graph or the input");
    return plan;
}

void answer_query(const bp_graph* graph, const bp_array* answers, const Abilities& can) {
    backend::answer_query<Plan>(graph, *answers,
                                [&](const Plan& plan, const Node& node) { return check_node(plan, node, can); });
}

std::vector<bp_slot> slots_of(const Plan& plan, uint64_t alignment) {
    std::vector<bp_slot> slots;
    for (const Slot& slot : plan.slots)
        slots.push_back(
            {BP_SIZE(bp_slot, last_use), slot.tensor, slot.bytes, alignment, slot.layout, slot.first_use, slot.last_use});
    return slots;
}

std::string summary_of(const Plan& plan, const std::string& backend) {
    std::string text = backend + ", " + std::to_string(plan.dispatches.size()) + " dispatches\n";
    for (const Slot& slot : plan.slots)
        if (slot.layout != 0) text += "packed once: " + slot.pack.label + "\n";
    for (const Dispatch& d : plan.once) text += "once: " + d.label + "\n";
    for (const Dispatch& d : plan.dispatches) text += d.label + "\n";
    return text;
}

}  // namespace backplane::gpu
