#include "graph/from_abi.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "backplane/sdk.hpp"
#include "graph/graph_access.hpp"
#include "graph/op_definition.hpp"

namespace backplane::graph {

namespace {

constexpr int64_t kLargestExtent = int64_t{1} << 48;

[[noreturn]] void invalid(const std::string& why) { throw Error(Code::invalid, "graph is not valid: " + why); }

const bp_graph* checked(const bp_graph* graph) {
    if (graph == nullptr) invalid("there is none");
    return graph;
}

// The plain data, checked for ranges, with symbols replaced.
class Reader {
public:
    Reader(const bp_graph* graph, std::span<const int64_t> symbols)
        : view_(checked(graph)), attributes_(sdk::read(graph).attributes), symbols_(symbols) {
        try {
            view_.validate();
        } catch (const sdk::Failure& failure) {
            throw Error(static_cast<Code>(failure.code()), failure.what());
        }
        if (!symbols.empty() && symbols.size() != view_.symbols())
            throw Error(Code::invalid, std::to_string(symbols.size()) + " symbol values given, the graph has " +
                                           std::to_string(view_.symbols()) + " symbols");
        for (uint32_t i = 0; i < view_.symbols(); ++i) check_symbol(i);
    }

    [[nodiscard]] const sdk::GraphView& view() const { return view_; }

    [[nodiscard]] Shape shape(uint32_t i) const {
        const bp_tensor t = view_.tensor(i);
        Shape shape;
        for (uint32_t d = 0; d < t.rank; ++d) shape.push_back(view_.dim(t, d, symbols_));
        return shape;
    }

    [[nodiscard]] DType dtype(uint32_t i) const {
        const uint32_t dtype = view_.tensor(i).dtype;
        if (sdk::dtype_info(dtype).bytes == 0)
            throw Error(Code::unsupported, "tensor " + std::to_string(i) + " has the element type " + std::to_string(dtype) +
                                               ", which this version does not know");
        return static_cast<DType>(dtype);
    }

    [[nodiscard]] std::string label(uint32_t node) const {
        const bp_node n = view_.node(node);
        std::string text = "node " + std::to_string(node) + " (" + sdk::op_name(n.op);
        if (n.name != nullptr) text += std::string(" '") + n.name + "'";
        return text + ")";
    }

    [[nodiscard]] const OpDefinition& definition(uint32_t node) const {
        const uint32_t op = view_.node(node).op;
        const OpDefinition* found = find_op(static_cast<Op>(op));
        if (found == nullptr)
            throw Error(Code::unsupported,
                        label(node) + " has the op id " + std::to_string(op) + ", which this version does not know");
        return *found;
    }

    [[nodiscard]] bp_attribute raw_attribute(const bp_node& node, uint32_t k) const {
        return sdk::read(BP_AT(bp_attribute, &attributes_, node.attribute + k));
    }

    [[nodiscard]] std::vector<Attribute> attributes(uint32_t node) const {
        std::vector<Attribute> all;
        const bp_node n = view_.node(node);
        const OpDefinition& op = definition(node);
        for (uint32_t k = 0; k < n.attributes; ++k) {
            const bp_attribute a = raw_attribute(n, k);
            const auto id = static_cast<Attr>(a.id);
            if (op.description.find(a.id) == nullptr)
                throw Error(Code::unsupported, label(node) + " has the attribute " + std::to_string(a.id) + " (" +
                                                   name_of(id) + "), which this version does not know for this op");
            if (a.type != type_of(id)) invalid(label(node) + ": attribute " + name_of(id) + " has the wrong type");
            all.push_back(attribute(node, a));
        }
        return all;
    }

private:
    void check_symbol(uint32_t i) const {
        const bp_symbol s = view_.symbol(i);
        if (s.least < 0 || s.most < s.least || s.most > kLargestExtent)
            invalid("symbol " + std::to_string(i) + " has the bounds " + std::to_string(s.least) + " to " +
                    std::to_string(s.most));
        if (symbols_.empty()) return;
        const int64_t value = symbols_[i];
        const int64_t multiple = std::max<int64_t>(1, s.multiple_of);
        if (value < s.least || value > s.most || value % multiple != 0)
            throw Error(Code::invalid, "symbol " + std::to_string(i) + " is " + std::to_string(value) +
                                           "; the graph allows " + std::to_string(s.least) + " to " +
                                           std::to_string(s.most) + " in steps of " + std::to_string(multiple));
    }

    [[nodiscard]] Attribute attribute(uint32_t node, const bp_attribute& a) const {
        const auto id = static_cast<Attr>(a.id);
        if (a.type == BP_ATTRIBUTE_INT) return {id, a.integer};
        if (a.type == BP_ATTRIBUTE_FLOAT) return {id, a.number};
        if (a.integers.size % sizeof(int64_t) != 0 || (a.integers.size != 0 && a.integers.data == nullptr))
            invalid(label(node) + ": attribute " + name_of(id) + " is no list of int64");
        std::vector<int64_t> list(a.integers.size / sizeof(int64_t));
        if (!list.empty()) std::memcpy(list.data(), a.integers.data, a.integers.size);
        return {id, std::move(list)};
    }

    sdk::GraphView view_;
    bp_span attributes_;
    std::span<const int64_t> symbols_;
};

TensorInfo read_tensor(const Reader& reader, uint32_t i) {
    const bp_tensor from = reader.view().tensor(i);
    const auto what = [&] { return "graph is not valid: tensor " + std::to_string(i); };
    TensorInfo t;
    if (from.name != nullptr) t.name = from.name;
    t.dtype = reader.dtype(i);
    t.shape = reader.shape(i);
    check_tensor(what, t.dtype, t.shape);
    if (from.role > BP_ROLE_STATE)
        throw Error(Code::unsupported, "tensor " + std::to_string(i) + " has the role " + std::to_string(from.role) +
                                           ", which this version does not know");
    t.role = static_cast<Role>(from.role);
    t.content = t.role == Role::weight ? from.content : 0;
    if (t.role == Role::constant) {
        const uint64_t size = bytes(t.dtype, t.shape);
        if (from.data.size != size || (size != 0 && from.data.data == nullptr))
            throw Error(Code::invalid, what() + ": a constant of " + std::to_string(size) + " bytes comes with " +
                                           std::to_string(from.data.data == nullptr ? 0 : from.data.size));
        t.data.resize(size);
        if (size != 0) std::memcpy(t.data.data(), from.data.data, size);
    }
    t.state_in = from.state_in;
    return t;
}

void check_states(const std::vector<TensorInfo>& tensors) {
    std::vector<bool> updated(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
        const TensorInfo& t = tensors[i];
        if (t.state_in == 0) continue;
        const std::string what = "tensor " + std::to_string(i);
        const size_t target = t.state_in - 1;
        if (t.role != Role::state) invalid(what + " has a state_in but is no state");
        if (target >= tensors.size() || tensors[target].role != Role::state || tensors[target].state_in != 0)
            invalid(what + ": its state_in names no state");
        if (tensors[target].dtype != t.dtype || tensors[target].shape != t.shape)
            invalid(what + " " + to_string(t.shape) + " cannot update tensor " + std::to_string(target) + " " +
                    to_string(tensors[target].shape) + ": dtype and shape must be equal");
        if (updated[target]) invalid("tensor " + std::to_string(target) + ", a state, is updated twice");
        updated[target] = true;
    }
}

bool written_by_node(const TensorInfo& t) {
    return t.role == Role::temporary || t.role == Role::output || (t.role == Role::state && t.state_in != 0);
}

// Inputs, attributes and output of a node, checked by the rules of its op.
Node read_node(const Reader& reader, uint32_t i) {
    const sdk::GraphView& view = reader.view();
    const bp_node from = view.node(i);
    const OpDefinition& definition = reader.definition(i);
    Node node;
    node.op = definition.op();
    if (from.name != nullptr) node.name = from.name;
    std::vector<Operand> operands;
    for (uint32_t k = 0; k < from.inputs; ++k) {
        const TensorId id{view.input(from, k)};
        node.inputs.push_back(id);
        operands.push_back(id.valid() ? Operand{reader.dtype(id.index), reader.shape(id.index)} : Operand{});
    }
    while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
    CheckedNode full = check_node(definition, node.name, operands, reader.attributes(i), Form::final);
    if (from.outputs != full.outputs.size())
        invalid(reader.label(i) + " has " + std::to_string(from.outputs) + " outputs, its op has " +
                std::to_string(full.outputs.size()));
    for (uint32_t k = 0; k < from.outputs; ++k) {
        const TensorId output{view.output(from, k)};
        if (!output.valid()) invalid(reader.label(i) + ": an output of it is left out");
        const DType dtype = reader.dtype(output.index);
        const Shape shape = reader.shape(output.index);
        const Operand& made = full.outputs[k];
        if (made.dtype != dtype || made.shape != shape)
            invalid(reader.label(i) + " gives " + name_of(made.dtype) + " " + to_string(made.shape) +
                    ", its output is stated as " + name_of(dtype) + " " + to_string(shape));
        node.outputs.push_back(output);
    }
    node.attributes = std::move(full.attributes);
    return node;
}

// BP_WHY_* of one node.
uint32_t why_not_of(const Reader& reader, uint32_t node) {
    const bp_node n = reader.view().node(node);
    const OpDefinition* definition = find_op(static_cast<Op>(n.op));
    if (definition == nullptr) return BP_WHY_OP;
    for (uint32_t k = 0; k < n.attributes; ++k)
        if (definition->description.find(reader.raw_attribute(n, k).id) == nullptr) return BP_WHY_ATTRIBUTE;
    try {
        static_cast<void>(read_node(reader, node));
    } catch (const Error& e) {
        return e.code() == Code::unsupported ? BP_WHY_DTYPE : BP_WHY_SHAPE;
    }
    return BP_WHY_NONE;
}

}  // namespace

Graph graph_from_abi(const bp_graph* graph, std::span<const int64_t> symbols) {
    const Reader reader(graph, symbols);
    Graph result;
    std::vector<TensorInfo>& tensors = GraphAccess::tensors(result);
    for (uint32_t i = 0; i < reader.view().tensors(); ++i) tensors.push_back(read_tensor(reader, i));
    check_states(tensors);
    std::vector<bool> readable(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) readable[i] = !written_by_node(tensors[i]);
    for (uint32_t i = 0; i < reader.view().nodes(); ++i) {
        Node node = read_node(reader, i);
        for (const TensorId id : node.inputs)
            if (id.valid() && !readable[id.index])
                invalid(reader.label(i) + " reads tensor " + std::to_string(id.index) + " before it is written");
        for (const TensorId output : node.outputs) {
            if (readable[output.index])
                invalid(reader.label(i) + " writes tensor " + std::to_string(output.index) +
                        ", which is bound or was written before");
            readable[output.index] = true;
        }
        GraphAccess::nodes(result).push_back(std::move(node));
    }
    for (size_t i = 0; i < tensors.size(); ++i)
        if (!readable[i] && tensors[i].role != Role::temporary)
            invalid("tensor " + std::to_string(i) + " is a result no node writes");
    return result;
}

void check_ranges(const bp_graph* graph) { static_cast<void>(Reader(graph, {})); }

void check_node_from_abi(const bp_graph* graph, uint32_t node, std::span<const int64_t> symbols) {
    const Reader reader(graph, symbols);
    if (node >= reader.view().nodes()) invalid("it has no node " + std::to_string(node));
    static_cast<void>(read_node(reader, node));
}

uint32_t why_not(const bp_graph* graph, uint32_t node, std::span<const int64_t> symbols) {
    const Reader reader(graph, symbols);
    if (node >= reader.view().nodes()) invalid("it has no node " + std::to_string(node));
    return why_not_of(reader, node);
}

std::vector<uint32_t> why_not(const bp_graph* graph, std::span<const int64_t> symbols) {
    const Reader reader(graph, symbols);
    std::vector<uint32_t> reasons(reader.view().nodes());
    for (uint32_t i = 0; i < reasons.size(); ++i) reasons[i] = why_not_of(reader, i);
    return reasons;
}

}  // namespace backplane::graph
