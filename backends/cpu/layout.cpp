// Layouts: feature maps stay channels-last from the first op that wants them so to the last; conversions stand only at the edges.
#include <algorithm>
#include <map>
#include <vector>

#include "lowering.hpp"

namespace backplane::cpu {

namespace {

// The same bytes in both layouts: at most one of channels and pixels is more than one.
bool layout_free(const Value& value) { return !is_map(value) || value.dim[1] == 1 || pixels_of(value) == 1; }

// A transposition of maps by [0, 2, ..., 1] puts channels last, one by [0, last, 1, ...] puts what is last first among the channels.
bool moves_channels(const Node& node, size_t rank, bool to_back) {
    if (node.op != BP_OP_transpose || rank < 3 || rank > 5) return false;
    const backplane::ops::List perm = node.as<backplane::ops::TransposeAttributes>().perm;
    if (perm.size() != rank || perm[0] != 0) return false;
    const auto last = static_cast<int64_t>(rank) - 1;
    for (int64_t d = 1; d <= last; ++d)
        if (perm[static_cast<size_t>(d)] != (to_back ? d % last + 1 : (d + last - 2) % last + 1)) return false;
    return true;
}

bool takes_rows_too(const Plan& plan, const Node& node) {
    const OpLowering* lowering = find_lowering(node.op);
    return lowering->rows_too != nullptr && lowering->rows_too(plan, node);
}

// Of each value: whether an op that wants its maps channels-last reads it, or what ops that take both make of it.
std::vector<bool> read_channels_last(const Plan& plan) {
    std::vector<bool> read(plan.values.size(), false);
    for (size_t i = plan.nodes.size(); i-- > 0;) {
        const Node& node = plan.nodes[i];
        const Wants wants = find_lowering(node.op)->wants;
        if (moves_channels(node, plan[node.output].dim.size(), true)) read[node.inputs[0]] = true;
        if (wants == Wants::row_major) continue;
        if ((wants == Wants::either || takes_rows_too(plan, node)) && !read[node.output]) continue;
        for (const ValueId in : node.inputs)
            if (in != kNone) read[in] = true;
        for (const PostOp& post : node.post)
            if (post.value != kNone) read[post.value] = true;
    }
    return read;
}

// Nothing that the node reads is channels-last, and its result is not wanted so, or costs less to convert.
bool stays_row_major(const Plan& plan, const Node& node, const std::vector<bool>& read) {
    if (!takes_rows_too(plan, node)) return false;
    const auto last = [&](ValueId id) { return id != kNone && plan[id].layout == Layout::channels_last; };
    if (std::any_of(node.inputs.begin(), node.inputs.end(), last)) return false;
    if (std::any_of(node.post.begin(), node.post.end(), [&](const PostOp& post) { return last(post.value); })) return false;
    return !read[node.output] || plan[node.output].elements() < plan[node.inputs[0]].elements();
}

bool wants_channels_last(const Plan& plan, const Node& node, const std::vector<bool>& read) {
    const OpLowering* lowering = find_lowering(node.op);
    if (lowering->wants == Wants::channels_last) return !stays_row_major(plan, node, read);
    if (lowering->wants == Wants::row_major) return false;
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

// A transposition whose result in one layout is its operand in the other: another name for the same bytes.
bool becomes_a_name(Plan& plan, const Node& node, const std::vector<bool>& read) {
    const Value& from = plan[node.inputs[0]];
    Value& to = plan[node.output];
    if (from.dtype != BP_F32 || from.role == BP_ROLE_CONSTANT || to.role != BP_ROLE_TEMPORARY || to.state != kNone)
        return false;
    const bool last = from.layout == Layout::channels_last;
    if (!moves_channels(node, to.dim.size(), last) || (!last && !read[node.output])) return false;
    to.layout = last ? Layout::row_major : Layout::channels_last;
    to.inside = node.inputs[0];
    return true;
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
            plan_[to].inside = from;
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
    const std::vector<bool> read = read_channels_last(plan);
    Converter converter(plan);
    for (Node& node : plan.nodes) {
        if (node.op == BP_OP_transpose && becomes_a_name(plan, node, read)) continue;
        const Layout layout = wants_channels_last(plan, node, read) ? Layout::channels_last : Layout::row_major;
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
