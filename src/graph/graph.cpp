// The builder.
#include "backplane/graph.hpp"

#include <algorithm>

#include "graph/element_types.hpp"
#include "graph/graph_access.hpp"
#include "graph/op_definition.hpp"

namespace backplane {

namespace {

std::string in_quotes(const std::string& name) { return "'" + name + "'"; }

TensorId append(std::vector<TensorInfo>& tensors, TensorInfo tensor) {
    if (tensors.size() >= BP_NO_TENSOR) throw Error(Code::invalid, "a graph has room for 2^32 - 1 tensors");
    tensors.push_back(std::move(tensor));
    return {static_cast<uint32_t>(tensors.size() - 1)};
}

}  // namespace

Graph::Graph(const Graph& other) noexcept : held_(other.held_) {
    if (held_ != nullptr) held_->holders.fetch_add(1, std::memory_order_relaxed);
}
Graph& Graph::operator=(const Graph& other) noexcept { return *this = Graph(other); }
Graph& Graph::operator=(Graph&& other) noexcept {
    std::swap(held_, other.held_);
    return *this;
}
Graph::~Graph() {
    if (held_ != nullptr && held_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete held_;
}

void Graph::Held::index() {
    if (indexed) return;
    names.clear();
    updated.clear();
    for (const TensorInfo& t : tensors) {
        if (t.state_in != 0) updated.insert(t.state_in - 1);
        if (t.state_in == 0 && (t.role == Role::input || t.role == Role::output || t.role == Role::state))
            names.emplace(t.role, t.name);
    }
    indexed = true;
}

// Runs bind inputs, outputs and states by name.
void Graph::Held::take_name(Role role, const std::string& name, const char* what) {
    index();
    if (!names.emplace(role, name).second)
        throw Error(Code::invalid, std::string("the graph already has an ") + what + " named " + in_quotes(name));
}

bool Graph::Held::take_update(uint32_t state) {
    index();
    return updated.insert(state).second;
}

Graph::Held& Graph::change() {
    if (held_ == nullptr) {
        held_ = new Held;
    } else if (held_->holders.load(std::memory_order_acquire) != 1) {
        auto copy = std::make_unique<Held>();
        copy->tensors = held_->tensors;
        copy->nodes = held_->nodes;
        const Graph shared = std::move(*this);  // lets go of it
        held_ = copy.release();
    }
    held_->hashed = false;
    return *held_;
}

namespace {

template <typename T>
const std::vector<T>& none() noexcept {
    static const std::vector<T> empty;
    return empty;
}

}  // namespace

const std::vector<TensorInfo>& Graph::tensors() const noexcept {
    return held_ != nullptr ? held_->tensors : none<TensorInfo>();
}
const std::vector<Node>& Graph::nodes() const noexcept { return held_ != nullptr ? held_->nodes : none<Node>(); }

TensorId Graph::input(std::string name, DType dtype, Shape shape) {
    graph::check_tensor([&] { return "input " + in_quotes(name); }, dtype, shape);
    change().take_name(Role::input, name, "input");
    return append(change().tensors, {std::move(name), dtype, Role::input, std::move(shape), 0, {}, 0});
}

TensorId Graph::weight(std::string name, DType dtype, Shape shape, uint64_t content) {
    graph::check_tensor([&] { return "weight " + in_quotes(name); }, dtype, shape);
    return append(change().tensors, {std::move(name), dtype, Role::weight, std::move(shape), content, {}, 0});
}

TensorId Graph::constant(std::string name, DType dtype, Shape shape, std::vector<std::byte> data) {
    graph::check_tensor([&] { return "constant " + in_quotes(name); }, dtype, shape);
    const uint64_t size = bytes(dtype, shape);
    if (data.size() != size)
        throw Error(Code::invalid, "constant " + in_quotes(name) + ": " + name_of(dtype) + " " + to_string(shape) + " has " +
                                       std::to_string(size) + " bytes, " + std::to_string(data.size()) + " given");
    return append(change().tensors, {std::move(name), dtype, Role::constant, std::move(shape), 0, std::move(data), 0});
}

TensorId Graph::constant(float value) {
    const double number = value;
    return constant("", DType::f32, {}, graph::encode({&number, 1}, DType::f32));
}

TensorId Graph::state(std::string name, DType dtype, Shape shape) {
    graph::check_tensor([&] { return "state " + in_quotes(name); }, dtype, shape);
    change().take_name(Role::state, name, "state");
    return append(change().tensors, {std::move(name), dtype, Role::state, std::move(shape), 0, {}, 0});
}

TensorId Graph::add(Op op, std::span<const TensorId> inputs, const std::vector<Attribute>& attributes, std::string name) {
    const graph::OpDefinition* definition = graph::find_op(op);
    if (definition != nullptr && definition->description.several_outputs())
        throw Error(Code::invalid, std::string(definition->name()) + " has several outputs: Graph::add_all gives them all");
    return add_all(op, inputs, attributes, std::move(name)).front();
}

std::vector<TensorId> Graph::add_all(Op op, std::span<const TensorId> inputs, const std::vector<Attribute>& attributes,
                                     std::string name) {
    const std::vector<TensorInfo>& known = tensors();
    const graph::OpDefinition* definition = graph::find_op(op);
    if (definition == nullptr)
        throw Error(Code::invalid, "there is no op with the id " + std::to_string(static_cast<uint32_t>(op)));
    std::vector<ops::Operand> operands(inputs.size());
    for (size_t k = 0; k < inputs.size(); ++k) {
        const TensorId id = inputs[k];
        if (id.valid() && id.index >= known.size())
            throw Error(Code::invalid,
                        std::string(definition->name()) + ": the graph has no tensor " + std::to_string(id.index));
        if (id.valid()) operands[k] = graph::operand_of(known[id.index].dtype, known[id.index].shape);
    }
    graph::CheckedNode checked = graph::check_node(*definition, name, operands, attributes);
    std::vector<TensorId> outputs;
    outputs.reserve(checked.outputs.size());
    for (graph::Operand& output : checked.outputs)
        outputs.push_back(
            append(change().tensors, {name, output.dtype, Role::temporary, std::move(output.shape), 0, {}, 0}));
    std::vector<TensorId> given(inputs.begin(), inputs.end());
    while (!given.empty() && !given.back().valid()) given.pop_back();  // one form for "left out at the end"
    change().nodes.push_back({op, std::move(given), outputs, std::move(checked.attributes), std::move(name)});
    return outputs;
}

void Graph::output(TensorId tensor, std::string name) {
    if (tensor.index >= tensors().size())
        throw Error(Code::invalid, "output " + in_quotes(name) + ": the graph has no such tensor");
    const TensorInfo& t = tensors()[tensor.index];
    if (t.role == Role::output)
        throw Error(Code::invalid, "output " + in_quotes(name) + ": it already is the output " + in_quotes(t.name));
    if (t.role != Role::temporary)
        throw Error(Code::invalid, "output " + in_quotes(name) +
                                       ": an output must be what a node wrote and nothing else; add a Reshape " +
                                       "to return an input, weight, constant or state");
    change().take_name(Role::output, name, "output");
    TensorInfo& changed = change().tensors[tensor.index];
    changed.role = Role::output;
    changed.name = std::move(name);
}

void Graph::update(TensorId state, TensorId value) {
    const std::vector<TensorInfo>& known = tensors();
    if (state.index >= known.size() || known[state.index].role != Role::state || known[state.index].state_in != 0)
        throw Error(Code::invalid, "update: the tensor to update is no state of the graph");
    if (value.index >= known.size()) throw Error(Code::invalid, "update: the graph has no tensor for the new value");
    const TensorInfo& to = known[state.index];
    const TensorInfo& from = known[value.index];
    if (from.role != Role::temporary)
        throw Error(Code::invalid, "update of state " + in_quotes(to.name) +
                                       ": the new value must be what a node wrote and nothing else; " +
                                       "add a Reshape to keep an input, output, weight or constant");
    if (from.dtype != to.dtype || from.shape != to.shape)
        throw Error(Code::invalid, "update of state " + in_quotes(to.name) + ": the state is " + name_of(to.dtype) + " " +
                                       to_string(to.shape) + ", the new value " + name_of(from.dtype) + " " +
                                       to_string(from.shape));
    if (!change().take_update(state.index))
        throw Error(Code::invalid, "update of state " + in_quotes(tensors()[state.index].name) + ": it is updated already");
    TensorInfo& changed = change().tensors[value.index];
    changed.role = Role::state;
    changed.state_in = state.index + 1;
}

TensorId Graph::find(std::string_view name) const noexcept {
    const std::vector<TensorInfo>& known = tensors();
    for (uint32_t i = 0; i < known.size(); ++i)
        if (known[i].name == name) return {i};
    return no_tensor;
}

std::vector<TensorId> Graph::with_role(Role role) const {
    std::vector<TensorId> found;
    const std::vector<TensorInfo>& known = tensors();
    for (uint32_t i = 0; i < known.size(); ++i)
        if (known[i].role == role) found.push_back({i});
    return found;
}

}  // namespace backplane
