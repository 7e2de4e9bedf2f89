// Depthwise convolutions between two transposes, as networks write them whose values have their channels last: done on maps as they lie, so that
// nothing is moved.
#include <algorithm>

#include "common/gpu/plan.hpp"
#include "common/strided.hpp"

namespace backplane::gpu {

namespace {

// Does it bring the channels of a map of one or two axes from the last place to the second (or, `back`, there again)?
bool turns_channels(const Plan& plan, const Node& node, bool back) {
    if (node.op != BP_OP_transpose) return false;
    const size_t rank = plan[node.output].dim.size();
    const std::vector<size_t> order = backend::transpose_order(node, rank);
    if (rank == 3) return order == std::vector<size_t>{0, 2, 1};
    return order == (back ? std::vector<size_t>{0, 2, 3, 1} : std::vector<size_t>{0, 3, 1, 2});
}

bool is_depthwise(const Plan& plan, const Node& node) {
    if (node.op != BP_OP_conv || node.part == kChannelsLast) return false;
    const Value& filters = plan[node.inputs[1]];
    const int64_t groups = node.as<backplane::ops::ConvAttributes>().group;
    return groups > 1 && filters.dim[0] == groups && filters.dim[1] == 1;
}

// What is added to a result lies as that does.
bool adds_maps(const Node& node) {
    return std::any_of(node.post.begin(), node.post.end(), [](const PostOp& p) { return p.kind == PostOp::add; });
}

}  // namespace

void keep_channels_last(Plan& plan) {
    const backend::Readers readers(plan);
    for (Node& node : plan.nodes) {
        if (!is_depthwise(plan, node) || adds_maps(node)) continue;
        const uint32_t before = readers.maker(node.inputs[0]), after = readers.only(node.output);
        if (before == kNone || after == kNone || plan[node.output].role != BP_ROLE_TEMPORARY) continue;
        if (!turns_channels(plan, plan.nodes[before], false) || !turns_channels(plan, plan.nodes[after], true)) continue;
        Node last = node;
        last.part = kChannelsLast;
        last.inputs[0] = plan.nodes[before].inputs[0];
        last.output = plan.nodes[after].output;
        plan.nodes[after] = std::move(last);  // the one here is not read any more
    }
}

}  // namespace backplane::gpu
