#include "common/gpu/compile.hpp"

#include <iterator>

#include "common/blocks.hpp"
#include "common/fusion.hpp"
#include "common/gpu/chain.hpp"
#include "common/gpu/lowering.hpp"
#include "common/gpu/ops/attention.hpp"
#include "common/gpu/ops/blocks.hpp"
#include "common/gpu/ops/conv_windows.hpp"
#include "common/recurrent.hpp"
#include "common/states.hpp"
#include "common/workspace.hpp"

namespace backplane::gpu {

namespace {

void lower_all(Plan& plan, const Abilities& can, const volatile uint32_t* cancel) {
    Lowering to(plan, can);
    choose_bundles(to);
    for (size_t i = 0; i < plan.nodes.size(); ++i) {
        if (raised(cancel)) throw sdk::Failure(BP_CANCELLED, "compile was cancelled");
        const Node& node = plan.nodes[i];
        if (plan[node.output].elements() != 0) find_lowering(node.op)->lower(to, node);
    }
    plan.dispatches.insert(plan.dispatches.begin(), std::move_iterator(to.first.begin()),
                           std::move_iterator(to.first.end()));
    backend::place_states(plan, plan.dispatches, [&](ValueId next, ValueId state) {
        Dispatch copy;
        copy.label = "update state " + plan[next].text();
        copy.operands = {{next, 1, false}, {state, 1, true}};
        return copy;
    });
    for (const Dispatch& d : plan.dispatches)
        if (d.operands.size() > kMostOperands || d.parameters.size() > PARAMETER_WORDS)
            throw sdk::Failure(BP_INTERNAL, "compile: " + d.label + " has too many operands or parameters");
}

}  // namespace

Plan make_plan(const bp_graph* graph, const bp_compile& how, const Abilities& can) {
    auto plan = backend::plan_of<Plan>(graph);
    plan.math = how.math;
    backend::check_nodes(plan, [&](const Plan& all, const Node& node) { return check_node(all, node, can); });
    backend::add_slots(plan);
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
    plan.residents = backend::constants_of(plan, plan.dispatches, plan.once);
    backend::place_values(plan, plan.dispatches, plan.residents, can.storage_alignment);
    backend::check_workspace(plan.workspace_bytes, how);
    return plan;
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
