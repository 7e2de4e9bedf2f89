#include "graph/evaluate.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "backplane/ops/blocks.hpp"
#include "graph/element_types.hpp"

namespace backplane::graph {

namespace {

constexpr uint32_t kNever = UINT32_MAX;
constexpr int64_t kMostElements = int64_t{1} << 36;  // 512 GiB of doubles: asking the machine for more only does harm

std::string label(const Graph& graph, TensorId id) {
    const TensorInfo& t = graph[id];
    std::string text = "tensor " + std::to_string(id.index);
    if (!t.name.empty()) text += " '" + t.name + "'";
    return text;
}

void check_size(const Graph& graph, TensorId id, size_t given) {
    const TensorInfo& t = graph[id];
    const uint64_t size = bytes(t.dtype, t.shape);
    if (given != size)
        throw Error(Code::invalid, "cannot evaluate: " + label(graph, id) + " " + name_of(t.dtype) + " " +
                                       to_string(t.shape) + " has " + std::to_string(size) + " bytes, " +
                                       std::to_string(given) + " given");
}

bool is_given(const TensorInfo& t) {
    return t.role == Role::input || t.role == Role::weight || (t.role == Role::state && t.state_in == 0);
}

bool is_result(const TensorInfo& t) { return t.role == Role::output || t.state_in != 0; }

// The run of one graph: what is known so far, tensor by tensor.
class Run {
public:
    Run(const Graph& graph, std::span<const TensorBytes> inputs)
        : graph_(graph),
          values_(graph.tensors().size()),
          given_(values_.size()),
          known_(values_.size()),
          written_(values_.size()),
          last_use_(values_.size(), kNever) {
        for (const TensorBytes& input : inputs) {
            if (input.tensor.index >= values_.size() || !is_given(graph[input.tensor]))
                throw Error(Code::invalid, "cannot evaluate: tensor " + std::to_string(input.tensor.index) +
                                               " is no input, weight or state of the graph");
            if (given_[input.tensor.index] != nullptr)
                throw Error(Code::invalid, "cannot evaluate: " + label(graph, input.tensor) + " is given twice");
            check_size(graph, input.tensor, input.bytes.size());
            given_[input.tensor.index] = &input;
        }
        for (uint32_t n = 0; n < graph.nodes().size(); ++n)
            for (const TensorId id : graph.nodes()[n].inputs)
                if (id.valid()) last_use_[id.index] = n;
    }

    void node(uint32_t index) {
        const Node& node = graph_.nodes()[index];
        const OpDefinition& definition = *find_op(node.op);
        std::vector<const ReferenceTensor*> inputs;
        for (const TensorId id : node.inputs) inputs.push_back(id.valid() ? &value(id) : nullptr);
        std::vector<ReferenceTensor> made = evaluate_node(definition, inputs, node.attributes, outputs_of(graph_, node));
        for (size_t k = 0; k < made.size(); ++k) {
            const uint32_t output = node.outputs[k].index;
            const DType dtype = made[k].dtype;
            values_[output] = std::move(made[k]);
            known_[output] = true;
            if (is_update_in_place(graph_, node)) written_[output] = elements_written(definition, node, inputs);
            if (dtype != DType::f32 && dtype != DType::f64)
                for (double& v : values_[output].data) v = round_to(v, dtype);
        }
        for (const TensorId id : node.inputs)
            if (id.valid() && last_use_[id.index] == index && !is_result(graph_[id])) values_[id.index].data = {};
        for (const TensorId id : node.outputs)
            if (last_use_[id.index] == kNever && !is_result(graph_[id])) values_[id.index].data = {};
    }

    std::vector<ReferenceTensor> results() && { return std::move(values_); }
    // Of the new value of a state that is updated in place: which elements were put in. Empty for all others.
    [[nodiscard]] const std::vector<double>& written(TensorId id) const { return written_[id.index]; }

private:
    // Ones where the op puts elements of its update: the op itself, of ones into zeros.
    static std::vector<double> elements_written(const OpDefinition& definition, const Node& node,
                                                std::vector<const ReferenceTensor*> inputs) {
        const ReferenceTensor zeros{inputs[0]->shape, inputs[0]->dtype, std::vector<double>(inputs[0]->data.size())};
        const ReferenceTensor ones{inputs[1]->shape, inputs[1]->dtype, std::vector<double>(inputs[1]->data.size(), 1.0)};
        inputs[0] = &zeros;
        inputs[1] = &ones;
        const Operand output{zeros.dtype, zeros.shape};
        return evaluate_node(definition, inputs, node.attributes, {&output, 1}).front().data;
    }

    const ReferenceTensor& value(TensorId id) {
        ReferenceTensor& v = values_[id.index];
        if (known_[id.index]) return v;
        const TensorInfo& t = graph_[id];
        const TensorBytes* given = given_[id.index];
        if (t.role != Role::constant && given == nullptr)
            throw Error(Code::invalid, "cannot evaluate: " + label(graph_, id) + " is read but was not given");
        v = {t.shape, t.dtype,
             decode(t.role == Role::constant ? std::span<const std::byte>(t.data) : given->bytes, t.dtype)};
        known_[id.index] = true;
        return v;
    }

    const Graph& graph_;
    std::vector<ReferenceTensor> values_;
    std::vector<const TensorBytes*> given_;
    std::vector<bool> known_;
    std::vector<std::vector<double>> written_;
    std::vector<uint32_t> last_use_;
};

// The tensor whose value fills a room: an output itself, or what updates a state; no_tensor: a state that nothing updates.
TensorId source_of(const Graph& graph, TensorId id) {
    if (id.index < graph.tensors().size()) {
        if (graph[id].role == Role::output) return id;
        if (graph[id].role == Role::state && graph[id].state_in == 0) {
            for (uint32_t i = 0; i < graph.tensors().size(); ++i)
                if (graph.tensors()[i].state_in == id.index + 1) return {i};
            return no_tensor;
        }
    }
    throw Error(Code::invalid,
                "cannot evaluate: tensor " + std::to_string(id.index) + " is no output or state of the graph");
}

void run_nodes(Run& run, const Graph& graph, const volatile uint32_t* cancel) {
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
        if (cancel != nullptr && __atomic_load_n(cancel, __ATOMIC_RELAXED) != 0)
            throw Error(Code::cancelled, "evaluation was cancelled before node " + std::to_string(i));
        run.node(i);
    }
}

// Copies the elements that `written` names, or their blocks, all of them when it names none.
void put(std::span<std::byte> room, const std::vector<std::byte>& result, const std::vector<double>& written, DType dtype) {
    if (result.empty()) return;
    if (written.empty()) {
        std::memcpy(room.data(), result.data(), result.size());
        return;
    }
    const auto each = static_cast<size_t>(std::max(1, blocks::facts_of(static_cast<uint32_t>(dtype)).elements));
    const size_t size = result.size() / (written.size() / each);
    for (size_t i = 0; i < written.size() / each; ++i)
        if (written[i * each] != 0) std::memcpy(room.data() + i * size, result.data() + i * size, size);
}

}  // namespace

bool is_update_in_place(const Graph& graph, const Node& node) {
    const TensorInfo& to = graph[node.outputs[0]];
    return find_op(node.op)->description.into_first && to.state_in != 0 && node.inputs[0].index + 1 == to.state_in;
}

std::vector<Operand> outputs_of(const Graph& graph, const Node& node) {
    std::vector<Operand> outputs;
    outputs.reserve(node.outputs.size());
    for (const TensorId id : node.outputs) outputs.push_back({graph[id].dtype, graph[id].shape});
    return outputs;
}

std::vector<ReferenceTensor> evaluate_node(const OpDefinition& definition, std::span<const ReferenceTensor* const> inputs,
                                           std::span<const Attribute> attributes, std::span<const Operand> outputs) {
    std::vector<ReferenceTensor> results;
    const auto refuse = [&](const Shape& shape) {
        throw Error(Code::no_host_memory,
                    std::string(definition.name()) + ": no memory to evaluate a result of " + to_string(shape));
    };
    bool nothing = true;
    for (const Operand& output : outputs) {
        if (elements(output.shape) > kMostElements) refuse(output.shape);
        results.push_back({output.shape, output.dtype, {}});
        try {
            results.back().data.resize(static_cast<size_t>(elements(output.shape)));
        } catch (const std::bad_alloc&) {
            refuse(output.shape);
        }
        nothing = nothing && results.back().data.empty();
    }
    try {
        // An op with nothing to compute may not have what its reference relies on, such as a first element.
        if (!nothing) definition.reference({definition.op(), inputs, AttributeView(attributes), results.front(), results});
    } catch (const std::bad_alloc&) {
        refuse(outputs.front().shape);
    }
    return results;
}

std::vector<ReferenceTensor> evaluate_values(const Graph& graph, std::span<const TensorBytes> inputs,
                                             const volatile uint32_t* cancel) {
    Run run(graph, inputs);
    run_nodes(run, graph, cancel);
    return std::move(run).results();
}

void evaluate(const Graph& graph, std::span<const TensorBytes> inputs, std::span<const TensorRoom> outputs,
              const volatile uint32_t* cancel) {
    std::vector<TensorId> sources;
    for (const TensorRoom& room : outputs) {
        sources.push_back(source_of(graph, room.tensor));
        check_size(graph, room.tensor, room.bytes.size());
    }
    Run run(graph, inputs);
    run_nodes(run, graph, cancel);
    std::vector<std::vector<double>> written(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i)
        if (sources[i].valid()) written[i] = run.written(sources[i]);
    const std::vector<ReferenceTensor> values = std::move(run).results();
    std::vector<std::vector<std::byte>> results;
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (sources[i].valid()) {
            const ReferenceTensor& value = values[sources[i].index];
            results.push_back(encode(value.data, value.dtype));
            continue;
        }
        const TensorBytes* kept = nullptr;
        for (const TensorBytes& input : inputs)
            if (input.tensor == outputs[i].tensor) kept = &input;
        if (kept == nullptr)
            throw Error(Code::invalid, "cannot evaluate: " + label(graph, outputs[i].tensor) + " was not given");
        results.emplace_back(kept->bytes.begin(), kept->bytes.end());
    }
    for (size_t i = 0; i < outputs.size(); ++i)
        put(outputs[i].bytes, results[i], written[i], graph[outputs[i].tensor].dtype);
}

}  // namespace backplane::graph
