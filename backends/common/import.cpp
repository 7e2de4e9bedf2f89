// The host's graph as values and nodes.
#include <algorithm>

#include "common/graph.hpp"

namespace backplane::backend {

namespace {

// Offsets and sizes in bytes are 64-bit numbers all along.
void check_size(const Value& value, uint32_t index) {
    constexpr int64_t kMostElements = int64_t{1} << 56;
    int64_t elements = 1;
    for (const int64_t d : value.dim) {
        if (d > kMostElements || (d != 0 && elements > kMostElements / d))
            throw sdk::Failure(BP_INVALID, "graph is not valid: tensor " + std::to_string(index) + " is too large");
        elements *= std::max<int64_t>(1, d);
    }
}

Value tensor_of(const sdk::GraphView& graph, uint32_t index, const bp_tensor& t) {
    Value value;
    value.dtype = t.dtype;
    value.role = t.role;
    value.tensor = index;
    value.dim.reserve(t.rank);
    for (uint32_t d = 0; d < t.rank; ++d) {
        if (t.dim[d] < 0)
            throw sdk::Failure(BP_UNSUPPORTED, "compile: tensor " + std::to_string(index) +
                                                   " has a symbolic dimension; compile the graph once per size");
        value.dim.push_back(t.dim[d]);
    }
    check_size(value, index);
    value.bytes = graph.bytes(t);
    return value;
}

Value import_tensor(const sdk::GraphView& graph, uint32_t index) {
    const bp_tensor t = graph.tensor(index);
    Value value = tensor_of(graph, index, t);
    if (t.role == BP_ROLE_CONSTANT) {
        if (t.data.size < value.bytes || (t.data.data == nullptr && value.bytes != 0))
            throw sdk::Failure(BP_INVALID, "graph is not valid: constant tensor " + std::to_string(index) + " has " +
                                               std::to_string(t.data.size) + " bytes, needs " + std::to_string(value.bytes));
        const auto* data = static_cast<const std::byte*>(t.data.data);
        value.constant.assign(data, data + value.bytes);
    }
    if (t.role == BP_ROLE_STATE && t.state_in != 0) {
        if (t.state_in > graph.tensors()) throw sdk::Failure(BP_INVALID, "graph is not valid: state_in names no tensor");
        // Has memory of its own at first, since other nodes may read the state behind its update; a backend puts it in place where none does.
        value.role = BP_ROLE_TEMPORARY;
        value.state = t.state_in - 1;
    }
    return value;
}

// What no op could have (a longer list, a kind unknown here) becomes an attribute that the rules refuse.
backplane::ops::AttributeValue import_attribute(const bp_attribute& a) {
    backplane::ops::AttributeValue value;
    const auto* data = static_cast<const int64_t*>(a.integers.data);
    const size_t count = a.type == BP_ATTRIBUTE_INTS && data != nullptr ? a.integers.size / sizeof(int64_t) : 0;
    if (a.type < BP_ATTRIBUTE_INT || a.type > BP_ATTRIBUTE_INTS || count > value.list.items.size()) return value;
    value.id = a.id;
    value.kind = static_cast<backplane::ops::Kind>(a.type);
    value.integer = a.integer;
    value.number = a.number;
    for (size_t i = 0; i < count; ++i) value.list.push_back(data[i]);
    return value;
}

backplane::ops::AttributeValue list_attribute(uint32_t id, const backplane::ops::Dims& numbers) {
    backplane::ops::AttributeValue value;
    value.id = id;
    value.kind = backplane::ops::Kind::integers;
    for (const int64_t n : numbers) value.list.push_back(n);
    return value;
}

// The parts of a Split, each as a Slice. What is stated of it is checked here, because a Slice does not say all of it.
std::vector<Node> slices_of(const sdk::GraphView& graph, const Node& split, const std::vector<ValueId>& outputs) {
    namespace ops = backplane::ops;
    const auto refuse = [&](const std::string& why) {
        throw sdk::Failure(BP_INVALID, "graph is not valid: " + split.text() + ": " + why);
    };
    const auto operand_of = [&](ValueId tensor) {
        const Value value = read_tensor(graph, tensor);
        ops::Operand operand{value.dtype, {}};
        for (const int64_t d : value.dim) operand.dims.push_back(d);
        return operand;
    };
    if (split.inputs.size() != 1 || split.inputs[0] == kNone) refuse("takes 1 input");
    const ops::Operand x = operand_of(split.inputs[0]);
    std::vector<ops::Operand> made(outputs.size());
    ops::SplitAttributes attributes;
    try {
        attributes = split.as<ops::SplitAttributes>();
        ops::check(ops::op_split, {&x, 1}, &attributes, made);
    } catch (const ops::Refusal& refusal) {
        refuse(refusal.text);
    }
    const auto axis = static_cast<uint32_t>(attributes.axis);
    ops::Dims starts = x.dims;
    ops::Dims ends = x.dims;
    ops::Dims steps = x.dims;
    std::fill(starts.begin(), starts.end(), 0);
    std::fill(steps.begin(), steps.end(), 1);
    int64_t first = 0;
    std::vector<Node> slices;
    for (uint32_t k = 0; k < outputs.size(); ++k) {
        if (outputs[k] == BP_NO_TENSOR) refuse("an output of it is left out");
        const ops::Operand stated = operand_of(outputs[k]);
        if (stated.dtype != made[k].dtype || !(stated.dims == made[k].dims))
            refuse("its output " + std::to_string(k) + " is stated as " + ops::text_of(stated.dims) + ", it is " +
                   ops::text_of(made[k].dims));
        starts[axis] = first;
        ends[axis] = first += attributes.sizes.value[k];
        Node slice = split;
        slice.op = BP_OP_slice;
        slice.output = outputs[k];
        slice.attributes = {list_attribute(BP_ATTR_starts, starts), list_attribute(BP_ATTR_ends, ends),
                            list_attribute(BP_ATTR_steps, steps)};
        slices.push_back(std::move(slice));
    }
    return slices;
}

std::vector<Node> parts_of_top_k(const Node& top, const std::vector<ValueId>& outputs) {
    if (outputs.size() != 2 || outputs[0] == BP_NO_TENSOR || outputs[1] == BP_NO_TENSOR || top.inputs.empty())
        throw sdk::Failure(BP_INVALID, "graph is not valid: " + top.text() + " must have an input and two outputs");
    Node positions = top;
    positions.output = outputs[1];
    positions.part = 1;
    Node values = top;
    values.op = BP_OP_gather_elements;
    values.inputs = {top.inputs[0], outputs[1]};
    values.output = outputs[0];
    std::erase_if(values.attributes, [](const auto& a) { return a.id != BP_ATTR_axis; });
    return {std::move(positions), std::move(values)};
}

}  // namespace

Value read_tensor(const sdk::GraphView& graph, uint32_t index) { return tensor_of(graph, index, graph.tensor(index)); }

std::vector<Node> read_nodes(const sdk::GraphView& graph, uint32_t index) {
    std::vector<Node> nodes;
    read_nodes(graph, index, nodes);
    return nodes;
}

void read_nodes(const sdk::GraphView& graph, uint32_t index, std::vector<Node>& into) {
    const bp_node n = graph.node(index);
    Node node;
    node.op = n.op;
    node.index = index;
    if (n.name != nullptr) node.name = n.name;
    node.inputs.reserve(n.inputs);
    for (uint32_t k = 0; k < n.inputs; ++k) node.inputs.push_back(graph.input(n, k));
    node.attributes.reserve(n.attributes);
    for (uint32_t k = 0; k < n.attributes; ++k) node.attributes.push_back(import_attribute(graph.attribute(n, k)));
    if (node.op == BP_OP_split || node.op == BP_OP_top_k) {
        std::vector<ValueId> outputs;
        outputs.reserve(n.outputs);
        for (uint32_t k = 0; k < n.outputs; ++k) outputs.push_back(graph.output(n, k));
        for (Node& part : node.op == BP_OP_split ? slices_of(graph, node, outputs) : parts_of_top_k(node, outputs))
            into.push_back(std::move(part));
        return;
    }
    const backplane::ops::Description* op = backplane::ops::find(node.op);
    const size_t wanted = op != nullptr ? op->outputs.size() : 1;
    bool all = n.outputs == wanted;
    for (uint32_t k = 0; k < n.outputs && all; ++k) all = graph.output(n, k) != BP_NO_TENSOR;
    if (!all)
        throw sdk::Failure(BP_INVALID, "graph is not valid: " + node.text() + " must have " +
                                           (wanted == 1 ? "one output" : std::to_string(wanted) + " outputs"));
    node.output = graph.output(n, 0);
    for (uint32_t k = 1; k < n.outputs; ++k) node.more.push_back(graph.output(n, k));
    into.push_back(std::move(node));
}

ImportedGraph read_graph(const bp_graph* from) {
    const sdk::GraphView graph(from);
    graph.validate();
    ImportedGraph plan;
    plan.values.reserve(graph.tensors());
    plan.nodes.reserve(graph.nodes());
    for (uint32_t i = 0; i < graph.tensors(); ++i) plan.values.push_back(import_tensor(graph, i));
    std::vector<bool> written(plan.values.size());
    for (uint32_t i = 0; i < plan.values.size(); ++i) {
        const Value& v = plan.values[i];
        written[i] = v.role != BP_ROLE_TEMPORARY && v.role != BP_ROLE_OUTPUT;
        if (v.role == BP_ROLE_OUTPUT || v.state != kNone) plan.outputs.push_back(i);
    }
    for (uint32_t i = 0; i < graph.nodes(); ++i) {
        const size_t before = plan.nodes.size();
        read_nodes(graph, i, plan.nodes);
        for (size_t k = before; k < plan.nodes.size(); ++k) {
            const Node& node = plan.nodes[k];
            for (const ValueId v : node.inputs)
                if (v != kNone && !written[v])
                    throw sdk::Failure(BP_INVALID, "graph is not valid: " + node.text() + " reads tensor " +
                                                       std::to_string(v) + " before it is written");
            const auto write = [&](ValueId v) {
                if (written[v])
                    throw sdk::Failure(BP_INVALID, "graph is not valid: " + node.text() + " writes tensor " +
                                                       std::to_string(v) + ", which is bound or was written before");
                written[v] = true;
            };
            write(node.output);
            std::for_each(node.more.begin(), node.more.end(), write);
        }
    }
    return plan;
}

}  // namespace backplane::backend
