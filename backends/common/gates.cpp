#include "common/gates.hpp"

#include "common/fusion.hpp"

namespace backplane::backend {

namespace {

bool is_gate(uint32_t op) {
    return op == BP_OP_sigmoid || op == BP_OP_silu || op == BP_OP_gelu || op == BP_OP_relu || op == BP_OP_tanh;
}

// Which half of its operand a Slice is, along which axis; axis -1: none.
struct Half {
    ValueId of = kNone;
    int64_t axis = -1;
    bool second = false;
};

Half half_of(const FusedNode& node, const Value& x) {
    const auto slice = node.as<backplane::ops::SliceAttributes>();
    Half half{node.inputs[0]};
    for (uint32_t d = 0; d < x.dim.size(); ++d) {
        const int64_t start = slice.starts.value[d], end = slice.ends.value[d];
        if (!slice.steps.empty() && slice.steps[d] != 1) return {};
        if (start == 0 && end == x.dim[d]) continue;
        if (half.axis >= 0 || 2 * (end - start) != x.dim[d] || (start != 0 && end != x.dim[d])) return {};
        half.axis = d;
        half.second = start != 0;
    }
    return half;
}

}  // namespace

Gated gated_of(const Value& x, const Value& y) {
    Gated g;
    size_t axis = 0;
    while (axis + 1 < x.dim.size() && x.dim[axis] == y.dim[axis]) g.outer *= x.dim[axis++];
    g.half = y.elements() / std::max<int64_t>(1, g.outer);
    return g;
}

void fuse_gates(PlanNodes& plan, const std::function<const Value&(ValueId)>& value) {
    const Readers readers(plan);
    const auto slice_at = [&](ValueId id) {
        const uint32_t maker = readers.maker(id);
        if (maker == kNone || plan.nodes[maker].op != BP_OP_slice) return Half();
        return half_of(plan.nodes[maker], value(plan.nodes[maker].inputs[0]));
    };
    for (FusedNode& node : plan.nodes) {
        if (node.op != BP_OP_mul || !node.post.empty()) continue;
        for (size_t k = 0; k < 2; ++k) {
            const uint32_t maker = readers.maker(node.inputs[k]);
            if (maker == kNone || !is_gate(plan.nodes[maker].op) || readers.times(node.inputs[k]) != 1) continue;
            const FusedNode& function = plan.nodes[maker];
            const Half gate = slice_at(function.inputs[0]), other = slice_at(node.inputs[1 - k]);
            if (gate.axis < 0 || gate.of != other.of || gate.axis != other.axis || gate.second == other.second) continue;
            if (value(node.output).dtype != value(gate.of).dtype) continue;
            node.post = {function_post(function)};
            node.op = kOpGated;
            node.part = gate.second ? 1 : 0;
            node.inputs = {gate.of};
            break;
        }
    }
}

}  // namespace backplane::backend
