// Reduced-precision activations: one float32 kernel serves every float type, with casts around it.
#include <map>

#include "lowering.hpp"

namespace backplane::cpu {

void widen_floats(Plan& plan) {
    std::vector<Node> nodes;
    std::map<ValueId, ValueId> widened;
    for (Node& node : plan.nodes) {
        const OpLowering* lowering = find_lowering(node.op);
        if (lowering == nullptr || lowering->types(node) == Types::moves) {
            nodes.push_back(std::move(node));
            continue;
        }
        for (size_t k = 0; k < node.inputs.size(); ++k) {
            const ValueId in = node.inputs[k];
            if (in == kNone || lowering->owns(k) || !is_half(plan[in].dtype)) continue;
            if (!widened.contains(in)) {
                widened[in] = plan.temporary(BP_F32, plan[in].dim);
                nodes.push_back(backend::cast_node(in, widened[in], BP_F32, node));
            }
            node.inputs[k] = widened[in];
        }
        const ValueId out = node.output;
        if (!is_half(plan[out].dtype)) {
            nodes.push_back(std::move(node));
            continue;
        }
        node.output = plan.temporary(BP_F32, plan[out].dim);
        Node cast = backend::cast_node(node.output, out, plan[out].dtype, node);
        nodes.push_back(std::move(node));
        nodes.push_back(std::move(cast));
    }
    plan.nodes = std::move(nodes);
}

}  // namespace backplane::cpu
