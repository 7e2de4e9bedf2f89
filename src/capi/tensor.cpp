// Tensors on devices, submits and their events, state, weights that sessions share.
#include <algorithm>

#include "capi/handles.hpp"

using backplane::Code;
using backplane::DType;
using backplane::Error;
using backplane::Input;
using backplane::Output;
using backplane::Shape;
using backplane::Tensor;
using backplane::Weights;
using backplane::capi::cancel_of;
using backplane::capi::devices_from;
using backplane::capi::give_text;
using backplane::capi::guarded;
using backplane::capi::inputs_from;
using backplane::capi::lines_of;
using backplane::capi::outputs_from;
using backplane::capi::put;
using backplane::capi::record_at;
using backplane::capi::require;
using backplane::capi::room_at;
using backplane::capi::shape_from;
using backplane::capi::write_record;

namespace {

std::span<const std::byte> bytes_at(const void* data, uint64_t bytes) {
    if (bytes > 0) require(data, "data");
    return {static_cast<const std::byte*>(data), static_cast<size_t>(bytes)};
}

}  // namespace

extern "C" {

bp_code backplane_tensor_create(backplane_device* device, uint32_t dtype, const int64_t* dims, uint32_t rank,
                                const void* data, backplane_tensor** out, bp_error* error) {
    return guarded(error, [&] {
        require(device, "device");
        require(out, "out");
        *out = nullptr;
        Shape shape = shape_from(dims, rank);
        const auto type = static_cast<DType>(dtype);
        const uint64_t bytes = backplane::bytes(type, shape);
        *out = new backplane_tensor{data == nullptr
                                        ? Tensor(device->device, type, std::move(shape))
                                        : Tensor::from(device->device, type, std::move(shape), bytes_at(data, bytes))};
    });
}

bp_code backplane_device_ledger(backplane_device* device, backplane_holder* holders, uint32_t capacity, uint32_t* count,
                                uint64_t* held, bp_error* error) {
    return guarded(error, [&] {
        require(device, "device");
        if (capacity > 0) require(holders, "holders");
        const backplane::Ledger ledger = backplane::ledger(device->device);
        if (count != nullptr) *count = static_cast<uint32_t>(ledger.holders.size());
        if (held != nullptr) *held = ledger.held;
        for (size_t i = 0; i < std::min<size_t>(capacity, ledger.holders.size()); ++i) {
            backplane_holder line{};
            line.bytes = ledger.holders[i].bytes;
            put(line.name, ledger.holders[i].name);
            write_record(line, record_at(holders, i), BP_SIZE(backplane_holder, bytes), "backplane_holder");
        }
    });
}

bp_code backplane_device_limit_memory(backplane_device* device, uint64_t bytes, bp_error* error) {
    return guarded(error, [&] {
        require(device, "device");
        backplane::limit_memory(device->device, bytes);
    });
}

void backplane_tensor_destroy(backplane_tensor* tensor) { delete tensor; }

bp_code backplane_tensor_read(backplane_tensor* tensor, void* data, uint64_t bytes, bp_error* error) {
    return guarded(error, [&] {
        require(tensor, "tensor");
        tensor->tensor.read(room_at(data, bytes));
    });
}

bp_code backplane_tensor_write(backplane_tensor* tensor, const void* data, uint64_t bytes, bp_error* error) {
    return guarded(error, [&] {
        require(tensor, "tensor");
        tensor->tensor.write(bytes_at(data, bytes));
    });
}

bp_code backplane_tensor_zero(backplane_tensor* tensor, bp_error* error) {
    return guarded(error, [&] {
        require(tensor, "tensor");
        tensor->tensor.zero();
    });
}

bp_code backplane_tensor_reshaped(backplane_tensor* tensor, const int64_t* dims, uint32_t rank, backplane_tensor** out,
                                  bp_error* error) {
    return guarded(error, [&] {
        require(tensor, "tensor");
        require(out, "out");
        *out = nullptr;
        *out = new backplane_tensor{tensor->tensor.reshaped(shape_from(dims, rank))};
    });
}

bp_code backplane_tensor_on(backplane_tensor* tensor, backplane_device* device, backplane_tensor** out, bp_error* error) {
    return guarded(error, [&] {
        require(tensor, "tensor");
        require(device, "device");
        require(out, "out");
        *out = nullptr;
        *out = new backplane_tensor{tensor->tensor.on(device->device)};
    });
}

bp_code backplane_tensor_rows(backplane_tensor* tensor, int64_t first, int64_t count, backplane_tensor** out,
                              bp_error* error) {
    return guarded(error, [&] {
        require(tensor, "tensor");
        require(out, "out");
        *out = nullptr;
        *out = new backplane_tensor{tensor->tensor.rows(first, count)};
    });
}

bp_code backplane_tensor_shape(backplane_tensor* tensor, uint32_t* dtype, int64_t* dims, uint32_t* rank, bp_error* error) {
    return guarded(error, [&] {
        require(tensor, "tensor");
        require(dims, "dims");
        require(rank, "rank");
        const Shape& shape = tensor->tensor.shape();
        if (dtype != nullptr) *dtype = static_cast<uint32_t>(tensor->tensor.dtype());
        *rank = static_cast<uint32_t>(shape.size());
        std::copy(shape.begin(), shape.end(), dims);
    });
}

bp_code backplane_weights_create(backplane_weight_source source, void* arg, backplane_weights** out, bp_error* error) {
    return guarded(error, [&] {
        require(out, "out");
        *out = nullptr;
        *out = new backplane_weights{Weights(backplane::capi::source_of(source, arg))};
    });
}

bp_code backplane_weights_create_named(backplane_weight_source source, void* arg, const char* name, backplane_weights** out,
                                       bp_error* error) {
    return guarded(error, [&] {
        require(name, "name");
        require(out, "out");
        *out = nullptr;
        *out = new backplane_weights{Weights(backplane::capi::source_of(source, arg), name)};
    });
}

void backplane_weights_destroy(backplane_weights* weights) { delete weights; }

bp_code backplane_weights_get_info(backplane_weights* weights, backplane_device* device, backplane_weights_info* info,
                                   bp_error* error) {
    return guarded(error, [&] {
        require(weights, "weights");
        require(device, "device");
        require(info, "info");
        const backplane::PlanCounts plans = weights->weights.plans();
        backplane_weights_info mine{};
        mine.bytes = weights->weights.bytes_on(device->device);
        mine.bytes_in_place = weights->weights.bytes_in_place(device->device);
        mine.plans_compiled = plans.compiled, mine.plans_reused = plans.reused, mine.plans_kept = plans.kept;
        write_record(mine, info, BP_SIZE(backplane_weights_info, bytes), "backplane_weights_info");
    });
}

bp_code backplane_session_create_with(backplane_device* const* devices, uint32_t device_count, backplane_graph* graph,
                                      backplane_weights* weights, const backplane_session_options* options,
                                      backplane_session** out, bp_error* error) {
    return guarded(error, [&] {
        require(graph, "graph");
        require(out, "out");
        *out = nullptr;
        const std::vector<backplane::Device> all = devices_from(devices, device_count);
        *out = new backplane_session{backplane::Session(all, graph->graph, weights != nullptr ? weights->weights : Weights(),
                                                        backplane::capi::session_options_from(options))};
    });
}

bp_code backplane_session_create_shared(backplane_device* const* devices, uint32_t device_count, backplane_graph* graph,
                                        backplane_weights* weights, uint32_t math, backplane_session** out,
                                        bp_error* error) {
    backplane_session_options options{};
    options.struct_size = sizeof options;
    options.math = math;
    return backplane_session_create_with(devices, device_count, graph, weights, &options, out, error);
}

bp_code backplane_session_submit(backplane_session* session, const backplane_value* inputs, uint32_t input_count,
                                 const backplane_value* outputs, uint32_t output_count, const volatile uint32_t* cancel,
                                 backplane_event** out, bp_error* error) {
    return guarded(error, [&] {
        require(session, "session");
        if (out != nullptr) *out = nullptr;
        const std::vector<Output> into = outputs_from(outputs, output_count);
        const std::vector<Input> in = inputs_from(inputs, input_count);
        if (out != nullptr)
            *out = new backplane_event{session->session.submit(in, into, cancel_of(cancel))};
        else  // by the thread that calls: to hand a small run to another one takes some times as long as the run
            session->session.run(in, into, cancel_of(cancel));
    });
}

bp_code backplane_event_wait(backplane_event* event, bp_error* error) {
    return guarded(error, [&] {
        require(event, "event");
        event->event.wait();
    });
}

bp_code backplane_event_wait_for(backplane_event* event, uint64_t nanoseconds, bp_error* error) {
    return guarded(error, [&] {
        require(event, "event");
        if (!event->event.wait_for(nanoseconds)) throw Error(Code::timeout, "the work is not done yet");
    });
}

bp_code backplane_event_bytes(backplane_event* event, uint64_t* moved, uint64_t* peer, bp_error* error) {
    return guarded(error, [&] {
        require(event, "event");
        if (moved != nullptr) *moved = event->event.bytes_moved();
        if (peer != nullptr) *peer = event->event.bytes_peer();
    });
}

void backplane_event_destroy(backplane_event* event) { delete event; }

bp_code backplane_session_state(backplane_session* session, const char* name, backplane_tensor** out, bp_error* error) {
    return guarded(error, [&] {
        require(session, "session");
        require(name, "name");
        require(out, "out");
        *out = nullptr;
        *out = new backplane_tensor{session->session.state(name)};
    });
}

bp_code backplane_session_set_state(backplane_session* session, const char* name, backplane_tensor* tensor,
                                    bp_error* error) {
    return guarded(error, [&] {
        require(session, "session");
        require(name, "name");
        require(tensor, "tensor");
        session->session.set_state(name, tensor->tensor);
    });
}

bp_code backplane_session_reset_state(backplane_session* session, bp_error* error) {
    return guarded(error, [&] {
        require(session, "session");
        session->session.reset_state();
    });
}

bp_code backplane_session_release(backplane_session* session, bp_error* error) {
    return guarded(error, [&] {
        require(session, "session");
        session->session.release();
    });
}

bp_code backplane_session_notes(backplane_session* session, char* text, size_t capacity, size_t* size, bp_error* error) {
    return guarded(error, [&] {
        require(session, "session");
        give_text(lines_of(session->session.notes()), text, capacity, size, "text");
    });
}

bp_code backplane_session_plan(backplane_session* session, uint32_t as_json, char* text, size_t capacity, size_t* size,
                               bp_error* error) {
    return guarded(error, [&] {
        require(session, "session");
        give_text(as_json != 0 ? session->session.plan_json() : session->session.describe(), text, capacity, size, "text");
    });
}

uint32_t backplane_op(const char* name) {
    return name != nullptr ? static_cast<uint32_t>(backplane::op_from_name(name)) : 0;
}
const char* backplane_op_name(uint32_t op) { return backplane::name_of(static_cast<backplane::Op>(op)); }
uint32_t backplane_attribute(const char* name) {
    return name != nullptr ? static_cast<uint32_t>(backplane::attr_from_name(name)) : 0;
}
const char* backplane_attribute_name(uint32_t attribute) {
    return backplane::name_of(static_cast<backplane::Attr>(attribute));
}
uint32_t backplane_dtype(const char* name) {
    return name != nullptr ? static_cast<uint32_t>(backplane::dtype_from_name(name)) : 0;
}
const char* backplane_dtype_name(uint32_t dtype) { return backplane::name_of(static_cast<DType>(dtype)); }

}  // extern "C"
