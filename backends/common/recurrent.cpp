#include "common/recurrent.hpp"

namespace backplane::backend {

namespace {

namespace ops = backplane::ops;

bool is_recurrent(uint32_t op) { return op == BP_OP_lstm || op == BP_OP_gru; }

// What both ops have; the sizes are not known of the node alone.
Recurrence attributes_of(const Node& node, int64_t* layout) {
    Recurrence r;
    const auto take = [&](const auto& a) {
        r.reverse = a.direction == BP_DIRECTION_REVERSE;
        r.activations = a.activations;
        r.clip = static_cast<float>(a.clip);
        *layout = a.layout;
    };
    r.cells = node.op == BP_OP_lstm;
    r.gates = r.cells ? 4 : 3;
    if (r.cells) {
        const auto a = node.as<ops::LstmAttributes>();
        take(a);
        r.input_forget = a.input_forget;
    } else {
        const auto a = node.as<ops::GruAttributes>();
        take(a);
        r.reset_behind = a.linear_before_reset;
    }
    return r;
}

ops::AttributeValue list_of(uint32_t id, const std::vector<int64_t>& numbers) {
    ops::AttributeValue value;
    value.id = id;
    value.kind = ops::Kind::integers;
    for (const int64_t n : numbers) value.list.push_back(n);
    return value;
}

class Expansion {
public:
    Expansion(const FusedNode& node, const std::function<const Value&(ValueId)>& value, const Temporary& temporary)
        : node_(node), value_(value), temporary_(temporary), r_(attributes_of(node, &layout_)) {
        const auto s = ops::RecurrentShape::of(value(node.inputs[ops::kRecurrentX]).dim,
                                               value(node.inputs[ops::kRecurrentR]).dim, layout_);
        inputs_ = s.inputs;
        r_.steps = s.steps;
        r_.batch = s.batch;
        r_.directions = s.directions;
        r_.hidden = s.hidden;
    }

    std::vector<FusedNode> run() {
        FusedNode left = node_;
        left.more.clear();
        left.inputs.resize(ops::kRecurrentP + 1, kNone);
        left.inputs[ops::kRecurrentX] = product();
        left.inputs[ops::kRecurrentW] = kNone;
        for (const uint32_t k : {ops::kRecurrentH, ops::kRecurrentC})
            if (left.inputs[k] != kNone && layout_ != 0) left.inputs[k] = swapped(left.inputs[k]);
        left.output = temporary_(BP_F32, {r_.steps + r_.rows_behind(), r_.directions, r_.batch, r_.hidden});
        const ValueId all = left.output;
        nodes_.push_back(std::move(left));
        const RecurrentRows rows(r_.steps);
        cut(all, 0, r_.steps, node_.output);
        cut(all, rows.state, 1, node_.more[0]);
        if (r_.cells) cut(all, rows.cell, 1, node_.more[1]);
        return std::move(nodes_);
    }

private:
    void append(uint32_t op, std::vector<ValueId> inputs, ValueId output, std::vector<ops::AttributeValue> attributes) {
        FusedNode node;
        node.op = op;
        node.index = node_.index;
        node.name = node_.name;
        node.inputs = std::move(inputs);
        node.output = output;
        node.attributes = std::move(attributes);
        nodes_.push_back(std::move(node));
    }
    // The first axis behind the second, for a value of three axes.
    ValueId swapped(ValueId from) {
        const Value& value = value_(from);
        const ValueId to = temporary_(value.dtype, {value.dim[1], value.dim[0], value.dim[2]});
        append(BP_OP_transpose, {from}, to, {list_of(BP_ATTR_perm, {1, 0, 2})});
        return to;
    }
    ValueId reshaped(ValueId from, const std::vector<int64_t>& dim) {
        const ValueId to = temporary_(value_(from).dtype, dim);
        append(BP_OP_reshape, {from}, to, {list_of(BP_ATTR_shape, dim)});
        return to;
    }

    ValueId product() {
        ValueId x = node_.inputs[ops::kRecurrentX];
        if (layout_ != 0) x = swapped(x);
        const int64_t tokens = r_.steps * r_.batch;
        x = reshaped(x, {tokens, inputs_});
        const ValueId sums = temporary_(BP_F32, {r_.directions, tokens, r_.gates * r_.hidden});
        ops::AttributeValue transposed;
        transposed.id = BP_ATTR_transpose_b;
        transposed.integer = 1;
        append(BP_OP_matmul, {x, node_.inputs[ops::kRecurrentW]}, sums, {transposed});
        return sums;
    }

    // An output of the op: `rows` rows of the result from `first` on, with the axes and the element type that it has.
    void cut(ValueId from, int64_t first, int64_t rows, ValueId to) {
        const std::vector<int64_t> dim = value_(to).dim;
        const bool casts = value_(to).dtype != BP_F32;
        const bool sequence = dim.size() == 4;
        const ValueId last = casts ? temporary_(BP_F32, dim) : to;
        const bool as_it_is = sequence && layout_ == 0;
        std::vector<int64_t> size{rows, r_.directions, r_.batch, r_.hidden};
        const ValueId part = as_it_is ? last : temporary_(BP_F32, size);
        append(BP_OP_slice, {from}, part,
               {list_of(BP_ATTR_starts, {first, 0, 0, 0}),
                list_of(BP_ATTR_ends, {first + rows, r_.directions, r_.batch, r_.hidden}),
                list_of(BP_ATTR_steps, {1, 1, 1, 1})});
        if (!as_it_is && sequence) append(BP_OP_transpose, {part}, last, {list_of(BP_ATTR_perm, {2, 0, 1, 3})});
        if (!sequence && layout_ == 0) append(BP_OP_reshape, {part}, last, {list_of(BP_ATTR_shape, dim)});
        if (!sequence && layout_ != 0)
            append(BP_OP_transpose, {reshaped(part, {size.begin() + 1, size.end()})}, last,
                   {list_of(BP_ATTR_perm, {1, 0, 2})});
        if (casts) nodes_.push_back(cast_node(last, to, value_(to).dtype, node_));
    }

    const FusedNode& node_;
    const std::function<const Value&(ValueId)>& value_;
    const Temporary& temporary_;
    int64_t layout_ = 0;
    Recurrence r_;
    int64_t inputs_ = 0;
    std::vector<FusedNode> nodes_;
};

}  // namespace

uint32_t Recurrence::function(int64_t d, size_t k) const {
    if (cells) return ops::activation_of(activations, ops::kLstmActivations, d, k);
    return ops::activation_of(activations, ops::kGruActivations, d, k);
}

Recurrence recurrence_of(const Node& node, const Value& result) {
    int64_t layout = 0;
    Recurrence r = attributes_of(node, &layout);
    r.steps = result.dim[0] - r.rows_behind();
    r.directions = result.dim[1];
    r.batch = result.dim[2];
    r.hidden = result.dim[3];
    return r;
}

void expand_recurrent(PlanNodes& plan, const std::function<const Value&(ValueId)>& value, const Temporary& temporary) {
    const auto whole = [](const FusedNode& node) { return is_recurrent(node.op); };
    if (std::none_of(plan.nodes.begin(), plan.nodes.end(), whole)) return;
    std::vector<FusedNode> nodes;
    for (FusedNode& node : plan.nodes) {
        if (!whole(node)) {
            nodes.push_back(std::move(node));
            continue;
        }
        for (FusedNode& part : Expansion(node, value, temporary).run()) nodes.push_back(std::move(part));
    }
    plan.nodes = std::move(nodes);
}

}  // namespace backplane::backend
