#include "common/plan.hpp"

namespace backplane::backend {

FusedNode cast_node(ValueId from, ValueId to, uint32_t dtype, const Node& like) {
    FusedNode cast;
    cast.op = BP_OP_cast;
    cast.index = like.index;
    cast.name = like.name;
    cast.inputs = {from};
    cast.output = to;
    backplane::ops::AttributeValue type;
    type.id = BP_ATTR_to;
    type.integer = dtype;
    cast.attributes = {type};
    return cast;
}

bool PlanNodes::is_output(ValueId value) const { return std::find(outputs.begin(), outputs.end(), value) != outputs.end(); }

Readers::Readers(const PlanNodes& plan) {
    for (const ValueId id : plan.outputs) at(id).output = true;
    for (uint32_t i = 0; i < plan.nodes.size(); ++i) {
        at(plan.nodes[i].output).maker = i;
        add(plan.nodes[i], i);
    }
}

Readers::Of& Readers::at(ValueId value) {
    if (value >= of_.size()) of_.resize(std::max<size_t>(value + size_t{1}, of_.size() * 2));
    return of_[value];
}

void Readers::note(const FusedNode& node, uint32_t index, int sign) {
    const auto read = [&](ValueId value) {
        if (value == kNone) return;
        Of& of = at(value);
        of.times += static_cast<uint32_t>(sign);
        of.sum += sign * int64_t{index};
    };
    for (const ValueId value : node.inputs) read(value);
    for (const PostOp& post : node.post) read(post.value);
}

}  // namespace backplane::backend
