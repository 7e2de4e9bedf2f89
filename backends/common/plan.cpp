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

Readers::Readers(const PlanNodes& plan, size_t values) : of_(values) {
    for (const ValueId id : plan.outputs) at(id).output = true;
    for (uint32_t i = 0; i < plan.nodes.size(); ++i) {
        at(plan.nodes[i].output).maker = i;
        add(plan.nodes[i], i);
    }
}

Readers::Of& Readers::grown_to(ValueId value) {
    of_.resize(std::max<size_t>(value + size_t{1}, of_.size() * 2));
    return of_[value];
}

}  // namespace backplane::backend
