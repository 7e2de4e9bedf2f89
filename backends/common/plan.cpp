#include "common/plan.hpp"

namespace backplane::backend {

namespace {

int64_t times_read(const FusedNode& node, ValueId value) {
    return std::count(node.inputs.begin(), node.inputs.end(), value) +
           std::count_if(node.post.begin(), node.post.end(), [&](const PostOp& post) { return post.value == value; });
}

}  // namespace

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

std::vector<uint32_t> PlanNodes::users(ValueId value) const {
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < nodes.size(); ++i)
        if (times_read(nodes[i], value) != 0) out.push_back(i);
    return out;
}

int64_t PlanNodes::uses(ValueId value) const {
    int64_t count = 0;
    for (const FusedNode& node : nodes) count += times_read(node, value);
    return count;
}

uint32_t PlanNodes::producer(ValueId value) const {
    for (uint32_t i = 0; i < nodes.size(); ++i)
        if (nodes[i].output == value) return i;
    return kNone;
}

bool PlanNodes::is_output(ValueId value) const { return std::find(outputs.begin(), outputs.end(), value) != outputs.end(); }

}  // namespace backplane::backend
