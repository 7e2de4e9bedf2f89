#include <algorithm>
#include <cstring>

#include "backplane/einsum.hpp"
#include "capi/handles.hpp"

using backplane::Attr;
using backplane::Attribute;
using backplane::Code;
using backplane::CompileOptions;
using backplane::DType;
using backplane::Error;
using backplane::Graph;
using backplane::Op;
using backplane::Session;
using backplane::Shape;
using backplane::TensorId;
using backplane::capi::guarded;
using backplane::capi::require;
using backplane::capi::shape_from;

namespace {

std::string name_from(const char* name) {
    require(name, "name");
    return name;
}

Attribute attribute_from(const bp_attribute& given) {
    bp_attribute a{};
    std::memcpy(&a, &given, std::min<size_t>(given.struct_size, sizeof a));
    const auto id = static_cast<Attr>(a.id);
    switch (a.type) {
        case BP_ATTRIBUTE_INT: return {id, a.integer};
        case BP_ATTRIBUTE_FLOAT: return {id, a.number};
        case BP_ATTRIBUTE_INTS: {
            const size_t count = a.integers.size / sizeof(int64_t);
            if (count > 0) require(a.integers.data, "the integers of an attribute");
            std::vector<int64_t> numbers(count);
            if (count > 0) std::memcpy(numbers.data(), a.integers.data, count * sizeof(int64_t));
            return {id, std::move(numbers)};
        }
        default: throw Error(Code::invalid, "an attribute has the unknown type " + std::to_string(a.type));
    }
}

// A tensor's number as given by the caller: in range, or nothing where that is allowed.
TensorId tensor_from(const Graph& graph, uint32_t index, bool optional = false) {
    if (index == BP_NO_TENSOR && optional) return backplane::no_tensor;
    if (index >= graph.tensors().size())
        throw Error(Code::invalid, "there is no tensor " + std::to_string(index) + "; the graph has " +
                                       std::to_string(graph.tensors().size()));
    return TensorId{index};
}

std::vector<TensorId> operands_from(const Graph& graph, const uint32_t* inputs, uint32_t count) {
    if (count > 0) require(inputs, "inputs");
    std::vector<TensorId> operands;
    for (uint32_t i = 0; i < count; ++i) operands.push_back(tensor_from(graph, inputs[i], true));
    return operands;
}

std::vector<Attribute> attributes_from(const bp_attribute* given, uint32_t count) {
    if (count > 0) require(given, "attributes");
    std::vector<Attribute> attributes;
    for (uint32_t i = 0; i < count; ++i) attributes.push_back(attribute_from(given[i]));
    return attributes;
}

}  // namespace

extern "C" {

bp_code backplane_graph_create(backplane_graph** out, bp_error* error) {
    return guarded(error, [&] {
        require(out, "out");
        *out = new backplane_graph{};
    });
}

void backplane_graph_destroy(backplane_graph* graph) { delete graph; }

bp_code backplane_graph_tensor(backplane_graph* graph, uint32_t role, const char* name, uint32_t dtype, const int64_t* dims,
                               uint32_t rank, uint32_t* out, bp_error* error) {
    return guarded(error, [&] {
        require(graph, "graph");
        require(out, "out");
        Shape shape = shape_from(dims, rank);
        const auto type = static_cast<DType>(dtype);
        switch (role) {
            case BP_ROLE_INPUT: *out = graph->graph.input(name_from(name), type, std::move(shape)).index; return;
            case BP_ROLE_WEIGHT: *out = graph->graph.weight(name_from(name), type, std::move(shape)).index; return;
            case BP_ROLE_STATE: *out = graph->graph.state(name_from(name), type, std::move(shape)).index; return;
            default:
                throw Error(Code::invalid, "a tensor of role " + std::to_string(role) +
                                               " is not made like this: input, weight and state are");
        }
    });
}

bp_code backplane_graph_constant(backplane_graph* graph, const char* name, uint32_t dtype, const int64_t* dims,
                                 uint32_t rank, const void* data, uint64_t bytes, uint32_t* out, bp_error* error) {
    return guarded(error, [&] {
        require(graph, "graph");
        require(out, "out");
        if (bytes > 0) require(data, "data");
        const auto* first = static_cast<const std::byte*>(data);
        *out = graph->graph
                   .constant(name_from(name), static_cast<DType>(dtype), shape_from(dims, rank),
                             std::vector<std::byte>(first, first + bytes))
                   .index;
    });
}

bp_code backplane_graph_add(backplane_graph* graph, uint32_t op, const uint32_t* inputs, uint32_t input_count,
                            const bp_attribute* attributes, uint32_t attribute_count, uint32_t* out, bp_error* error) {
    return guarded(error, [&] {
        require(graph, "graph");
        require(out, "out");
        const std::vector<TensorId> operands = operands_from(graph->graph, inputs, input_count);
        *out = graph->graph.add(static_cast<Op>(op), operands, attributes_from(attributes, attribute_count)).index;
    });
}

bp_code backplane_graph_add_all(backplane_graph* graph, uint32_t op, const uint32_t* inputs, uint32_t input_count,
                                const bp_attribute* attributes, uint32_t attribute_count, uint32_t* outputs,
                                uint32_t capacity, uint32_t* count, bp_error* error) {
    return guarded(error, [&] {
        require(graph, "graph");
        require(count, "count");
        if (capacity > 0) require(outputs, "outputs");
        const std::vector<TensorId> operands = operands_from(graph->graph, inputs, input_count);
        const std::vector<TensorId> made =
            graph->graph.add_all(static_cast<Op>(op), operands, attributes_from(attributes, attribute_count));
        *count = static_cast<uint32_t>(made.size());
        for (uint32_t i = 0; i < std::min(capacity, *count); ++i) outputs[i] = made[i].index;
    });
}

bp_code backplane_graph_einsum(backplane_graph* graph, const char* equation, const uint32_t* operands,
                               uint32_t operand_count, uint32_t* out, bp_error* error) {
    return guarded(error, [&] {
        require(graph, "graph");
        require(equation, "equation");
        require(out, "out");
        std::vector<TensorId> of;
        if (operand_count > 0) require(operands, "operands");
        for (uint32_t i = 0; i < operand_count; ++i) of.push_back(tensor_from(graph->graph, operands[i]));
        *out = backplane::einsum(graph->graph, equation, of).index;
    });
}

bp_code backplane_graph_output(backplane_graph* graph, uint32_t tensor, const char* name, bp_error* error) {
    return guarded(error, [&] {
        require(graph, "graph");
        graph->graph.output(tensor_from(graph->graph, tensor), name_from(name));
    });
}

bp_code backplane_graph_update(backplane_graph* graph, uint32_t state, uint32_t value, bp_error* error) {
    return guarded(error, [&] {
        require(graph, "graph");
        graph->graph.update(tensor_from(graph->graph, state), tensor_from(graph->graph, value));
    });
}

bp_code backplane_graph_shape(backplane_graph* graph, uint32_t tensor, int64_t* dims, uint32_t* rank, bp_error* error) {
    return guarded(error, [&] {
        require(graph, "graph");
        require(dims, "dims");
        require(rank, "rank");
        const Shape& shape = graph->graph[tensor_from(graph->graph, tensor)].shape;
        *rank = static_cast<uint32_t>(shape.size());
        std::copy(shape.begin(), shape.end(), dims);
    });
}

bp_code backplane_graph_dtype(backplane_graph* graph, uint32_t tensor, uint32_t* dtype, bp_error* error) {
    return guarded(error, [&] {
        require(graph, "graph");
        require(dtype, "dtype");
        *dtype = static_cast<uint32_t>(graph->graph[tensor_from(graph->graph, tensor)].dtype);
    });
}

bp_code backplane_graph_query(backplane_graph* graph, backplane_device* device, bp_answer* answers, uint32_t capacity,
                              uint32_t* count, bp_error* error) {
    return guarded(error, [&] {
        require(graph, "graph");
        require(device, "device");
        require(count, "count");
        if (capacity > 0) require(answers, "answers");
        const std::vector<backplane::NodeSupport> said = backplane::query(device->device, graph->graph);
        *count = static_cast<uint32_t>(said.size());
        for (size_t i = 0; i < std::min<size_t>(capacity, said.size()); ++i) {
            bp_answer* out = backplane::capi::record_at(answers, i);
            bp_answer answer = backplane::capi::read_record(out);
            answer.code = said[i].supported ? BP_OK : BP_UNSUPPORTED;
            answer.reason = static_cast<uint32_t>(said[i].reason);
            backplane::capi::give_text(said[i].text, answer.text, answer.text != nullptr ? answer.capacity : 0, nullptr,
                                       "text");
            backplane::capi::write_record(answer, out, BP_SIZE(bp_answer, reason), "bp_answer");
        }
    });
}

bp_code backplane_session_create(backplane_device* device, backplane_graph* graph, backplane_weight_source source, void* arg,
                                 uint32_t math, backplane_session** out, bp_error* error) {
    return guarded(error, [&] {
        require(device, "device");
        require(graph, "graph");
        require(out, "out");
        *out = nullptr;
        CompileOptions options;
        options.math = static_cast<backplane::Math>(math);
        *out =
            new backplane_session{Session(device->device, graph->graph, backplane::capi::source_of(source, arg), options)};
    });
}

void backplane_session_destroy(backplane_session* session) { delete session; }

bp_code backplane_session_run(backplane_session* session, const backplane_bytes* inputs, uint32_t input_count,
                              const backplane_bytes* outputs, uint32_t output_count, const volatile uint32_t* cancel,
                              bp_error* error) {
    return guarded(error, [&] {
        require(session, "session");
        if (input_count > 0) require(inputs, "inputs");
        if (output_count > 0) require(outputs, "outputs");
        std::vector<backplane::NamedBytes> in;
        std::vector<backplane::NamedRoom> out;
        for (uint32_t i = 0; i < input_count; ++i) {
            require(inputs[i].name, "the name of an input");
            in.push_back(
                {inputs[i].name, {static_cast<const std::byte*>(inputs[i].data), static_cast<size_t>(inputs[i].bytes)}});
        }
        for (uint32_t i = 0; i < output_count; ++i) {
            require(outputs[i].name, "the name of an output");
            out.push_back(
                {outputs[i].name, {static_cast<std::byte*>(outputs[i].data), static_cast<size_t>(outputs[i].bytes)}});
        }
        // A std::atomic of 32 bits is 32 bits; the caller writes it from another thread or a signal handler.
        session->session.run(in, out, backplane::capi::cancel_of(cancel));
    });
}

bp_code backplane_session_values(backplane_session* session, backplane_session_value* values, uint32_t capacity,
                                 uint32_t* count, bp_error* error) {
    return guarded(error, [&] {
        require(session, "session");
        require(count, "count");
        const Graph& graph = session->session.graph();
        std::vector<TensorId> all;
        for (const backplane::Role role : {backplane::Role::input, backplane::Role::output, backplane::Role::state})
            for (const TensorId id : graph.with_role(role)) all.push_back(id);
        backplane::capi::give_records(all, values, capacity, count, BP_SIZE(backplane_session_value, rank),
                                      "backplane_session_value", [&](TensorId id, backplane_session_value& into) {
                                          const backplane::TensorInfo& from = graph[id];
                                          into.role = static_cast<uint32_t>(from.role);
                                          into.dtype = static_cast<uint32_t>(from.dtype);
                                          into.rank = static_cast<uint32_t>(from.shape.size());
                                          std::copy(from.shape.begin(), from.shape.end(), into.dims);
                                          into.bytes = backplane::bytes(from.dtype, from.shape);
                                          backplane::capi::put(into.name, from.name);
                                      });
    });
}

bp_code backplane_session_runs(backplane_session* session, backplane_stage_runs* stages, uint32_t capacity, uint32_t* count,
                               bp_error* error) {
    return guarded(error, [&] {
        require(session, "session");
        backplane::capi::give_runs(session->session.runs(), stages, capacity, count);
    });
}

}  // extern "C"
