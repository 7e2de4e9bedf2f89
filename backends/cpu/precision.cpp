// Reduced-precision activations: one float32 kernel serves every float type, with casts around it.
#include "lowering.hpp"

namespace backplane::cpu {

void widen_floats(Plan& plan) {
    const auto type_of = [](const Node& node) -> uint32_t {
        const OpLowering* lowering = find_lowering(node.op);
        return lowering == nullptr || lowering->types(node) == Types::moves ? BP_DTYPE_UNKNOWN : BP_F32;
    };
    backend::cast_to_fit(plan, type_of, [&](const Node& node, size_t k) {
        const bool result = k == node.inputs.size();
        if (!result && find_lowering(node.op)->owns(k)) return true;
        return !is_half(plan[result ? node.output : node.inputs[k]].dtype);
    });
}

}  // namespace backplane::cpu
