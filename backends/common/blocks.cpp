#include "common/blocks.hpp"

namespace backplane::backend {

void decode_gathered(PlanNodes& plan, const std::function<const Value&(ValueId)>& value,
                     const std::function<ValueId(Value)>& add, const std::function<bool(const FusedNode&)>& decodes_itself) {
    const auto picks_blocks = [&](const FusedNode& node) {
        return node.op == BP_OP_gather && sdk::dtype_info(value(node.inputs[0]).dtype).block != 1 && !decodes_itself(node);
    };
    // Asked of a plan that is whole: who decodes looks at the other nodes.
    std::vector<bool> picked;
    picked.reserve(plan.nodes.size());
    for (const FusedNode& node : plan.nodes) picked.push_back(picks_blocks(node));
    std::vector<FusedNode> nodes;
    nodes.reserve(plan.nodes.size());
    for (size_t i = 0; i < plan.nodes.size(); ++i) {
        nodes.push_back(std::move(plan.nodes[i]));
        if (!picked[i]) continue;
        FusedNode& pick = nodes.back();
        const ValueId decoded = pick.output;
        Value rows;
        rows.dtype = value(pick.inputs[0]).dtype;
        rows.dim = value(decoded).dim;
        pick.output = add(std::move(rows));
        FusedNode cast = cast_node(pick.output, decoded, value(decoded).dtype, pick);
        nodes.push_back(std::move(cast));
    }
    plan.nodes = std::move(nodes);
}

}  // namespace backplane::backend
