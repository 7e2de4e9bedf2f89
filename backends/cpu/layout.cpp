// Layouts: feature maps stay channels-last from the first op that wants them so to the last; conversions stand only at the edges.
#include <map>

#include "lowering.hpp"

namespace backplane::cpu {

namespace {

// The same bytes in both layouts: at most one of channels and pixels is more than one.
bool layout_free(const Value& value) { return !is_map(value) || value.dim[1] == 1 || pixels_of(value) == 1; }

bool wants_channels_last(const Plan& plan, const Node& node) {
    const OpLowering* lowering = find_lowering(node.op);
    if (lowering->wants != Wants::either) return lowering->wants == Wants::channels_last;
    if (!is_map(plan[node.output]) || plan[node.output].dtype != BP_F32) return false;
    for (const ValueId in : node.inputs)
        if (in != kNone && plan[in].layout == Layout::channels_last) return true;
    return false;
}

bool is_weight(const Value& value) { return value.role == BP_ROLE_WEIGHT || value.role == BP_ROLE_CONSTANT; }

// The layout in which a node takes operand k: weights that its lowering packs are plain, and what stays the same in all runs is not
// converted in each where the lowering goes by strides anyhow.
Layout layout_of_operand(const Plan& plan, const Node& node, size_t k, Layout layout) {
    const OpLowering* lowering = find_lowering(node.op);
    if (lowering->owns(k)) return Layout::row_major;
    const ValueId id = node.inputs[k];
    return id != kNone && lowering->wants == Wants::either && is_weight(plan[id]) ? plan[id].layout : layout;
}

class Converter {
public:
    explicit Converter(Plan& plan) : plan_(plan) {}
    std::vector<Node> nodes;

    ValueId in_layout(ValueId id, Layout layout, const Node& reader) {
        if (id == kNone || !is_map(plan_[id]) || plan_[id].layout == layout) return id;
        if (plan_[id].dtype != BP_F32) return id;
        const auto found = converted_.find(id);
        if (found != converted_.end()) return found->second;
        const ValueId other = plan_.temporary(BP_F32, plan_[id].dim, layout);
        converted_[id] = other;
        append(id, other, reader);
        return other;
    }
    void append(ValueId from, ValueId to, const Node& reader) {
        if (layout_free(plan_[from]) && plan_[to].role == BP_ROLE_TEMPORARY && plan_[to].state == kNone) {
            plan_[to].same_storage_as = from;
            return;
        }
        Node node;
        node.op = kOpRelayout;
        node.index = reader.index;
        node.name = reader.name;
        node.inputs = {from};
        node.output = to;
        nodes.push_back(std::move(node));
    }

private:
    Plan& plan_;
    std::map<ValueId, ValueId> converted_;
};

}  // namespace

void assign_layouts(Plan& plan) {
    Converter converter(plan);
    for (Node& node : plan.nodes) {
        const Layout layout = wants_channels_last(plan, node) ? Layout::channels_last : Layout::row_major;
        for (size_t k = 0; k < node.inputs.size(); ++k)
            node.inputs[k] = converter.in_layout(node.inputs[k], layout_of_operand(plan, node, k, layout), node);
        for (PostOp& post : node.post)
            if (post.kind == PostOp::add) post.value = converter.in_layout(post.value, layout, node);
        const ValueId out = node.output;
        const bool bound = plan[out].role != BP_ROLE_TEMPORARY || plan[out].state != kNone;
        if (layout == Layout::channels_last && bound) {
            // Where the two sides meet, tensors are row-major.
            node.output = plan.temporary(plan[out].dtype, plan[out].dim, layout);
            const Node copy = node;
            converter.nodes.push_back(std::move(node));
            converter.append(copy.output, out, copy);
            continue;
        }
        if (layout == Layout::channels_last) plan[out].layout = layout;
        converter.nodes.push_back(std::move(node));
    }
    plan.nodes = std::move(converter.nodes);
}

}  // namespace backplane::cpu
