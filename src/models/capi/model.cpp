#include "backplane/model.h"

#include <algorithm>

#include "backplane/model.hpp"
#include "base/file.hpp"
#include "capi/handles.hpp"
#include "models/onnx/check_json.hpp"

using backplane::Code;
using backplane::Device;
using backplane::DType;
using backplane::Error;
using backplane::Math;
using backplane::Model;
using backplane::ModelInput;
using backplane::ModelOptions;
using backplane::ModelResult;
using backplane::ModelSession;
using backplane::ModelValue;
using backplane::Output;
using backplane::Shape;
using backplane::capi::cancel_of;
using backplane::capi::give_text;
using backplane::capi::guarded;
using backplane::capi::outputs_from;
using backplane::capi::put;
using backplane::capi::read_record;
using backplane::capi::record_at;
using backplane::capi::require;
using backplane::capi::write_record;

struct backplane_model {
    Model model;
};
struct backplane_model_session {
    ModelSession session;
};
struct backplane_model_results {
    std::vector<ModelResult> results;
};

namespace {

// `name` and the symbols live as long as the caller may look at them.
void write_value(const ModelValue& value, const std::string& name, backplane_model_value* out) {
    backplane_model_value mine{};
    mine.dtype = static_cast<uint32_t>(value.dtype);
    mine.rank = value.has_shape ? static_cast<uint32_t>(value.shape.size()) : UINT32_MAX;
    mine.is_unsigned = value.is_unsigned ? 1 : 0;
    mine.name = name.c_str();
    for (size_t d = 0; d < BP_MAX_RANK; ++d) {
        mine.dims[d] = d < value.shape.size() ? value.shape[d] : 0;
        mine.symbols[d] = d < value.symbols.size() ? value.symbols[d].c_str() : "";
    }
    write_record(mine, out, BP_SIZE(backplane_model_value, dims), "backplane_model_value");
}

// named: the same values, which live as long as the caller may look at their names.
void write_values(const std::vector<ModelValue>& values, const std::vector<ModelValue>& named, backplane_model_value* out,
                  uint32_t capacity, uint32_t* count) {
    require(count, "count");
    *count = static_cast<uint32_t>(values.size());
    if (capacity > 0) require(out, "values");
    for (size_t i = 0; i < std::min<size_t>(values.size(), capacity); ++i)
        write_value(values[i], named[i].name, record_at(out, i));
}

std::vector<ModelInput> inputs_from(const backplane_model_input* inputs, uint32_t count) {
    if (count > 0) require(inputs, "inputs");
    std::vector<ModelInput> all;
    all.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
        const backplane_model_input& given = inputs[i];
        require(given.name, "name of an input");
        if (given.tensor != nullptr) {
            all.emplace_back(given.name, given.tensor->tensor);
            continue;
        }
        if (given.rank > BP_MAX_RANK)
            throw Error(Code::invalid, std::string("input '") + given.name + "' of rank " + std::to_string(given.rank));
        const Shape shape = given.dims == nullptr ? Shape() : Shape(given.dims, given.dims + given.rank);
        if (given.data == nullptr && given.bytes != 0) require(given.data, "data of an input");
        all.emplace_back(given.name, std::span(static_cast<const std::byte*>(given.data), given.bytes), shape,
                         static_cast<DType>(given.dtype));
    }
    return all;
}

ModelOptions options_from(const backplane_model_options* given) {
    ModelOptions options;
    if (given == nullptr) return options;
    const backplane_model_options o = read_record(given);
    if (o.math > BP_MATH_RELAXED) throw Error(Code::invalid, "math is " + std::to_string(o.math) + ": it takes BP_MATH_*");
    options.session.compile.math = static_cast<Math>(o.math);
    if (o.plans_kept != 0) options.plans_kept = o.plans_kept;
    return options;
}

const ModelResult* result_at(const backplane_model_results* results, uint32_t i) {
    return results == nullptr || i >= results->results.size() ? nullptr : &results->results[i];
}

}  // namespace

extern "C" {

bp_code backplane_model_from_onnx(const char* path, backplane_model** out, bp_error* error) {
    return guarded(error, [&] {
        require(path, "path");
        require(out, "out");
        *out = nullptr;
        *out = new backplane_model{Model::from_onnx(backplane::base::path_of(path))};
    });
}

bp_code backplane_model_from_onnx_bytes(const void* data, uint64_t bytes, const char* name, backplane_model** out,
                                        bp_error* error) {
    return guarded(error, [&] {
        require(data, "data");
        require(out, "out");
        *out = nullptr;
        *out = new backplane_model{
            Model::from_onnx(std::span(static_cast<const std::byte*>(data), bytes), name != nullptr ? name : "memory")};
    });
}

void backplane_model_destroy(backplane_model* model) { delete model; }

bp_code backplane_model_get_info(const backplane_model* model, backplane_model_info* info, bp_error* error) {
    return guarded(error, [&] {
        require(model, "model");
        require(info, "info");
        const backplane::ModelInfo& of = model->model.info();
        backplane_model_info mine{};
        mine.input_count = static_cast<uint32_t>(model->model.inputs().size());
        mine.output_count = static_cast<uint32_t>(model->model.outputs().size());
        mine.opset = of.opset;
        mine.ir_version = of.ir_version;
        for (const auto& [op, count] : of.ops) mine.nodes += count;
        mine.parameters = of.parameters;
        mine.weight_bytes = of.weight_bytes;
        put(mine.format, of.format);
        put(mine.name, of.name);
        put(mine.producer, of.producer);
        write_record(mine, info, BP_SIZE(backplane_model_info, weight_bytes), "backplane_model_info");
    });
}

bp_code backplane_model_inputs(const backplane_model* model, backplane_model_value* values, uint32_t capacity,
                               uint32_t* count, bp_error* error) {
    return guarded(error, [&] {
        require(model, "model");
        write_values(model->model.inputs(), model->model.inputs(), values, capacity, count);
    });
}

bp_code backplane_model_outputs(const backplane_model* model, backplane_model_value* values, uint32_t capacity,
                                uint32_t* count, bp_error* error) {
    return guarded(error, [&] {
        require(model, "model");
        write_values(model->model.outputs(), model->model.outputs(), values, capacity, count);
    });
}

bp_code backplane_model_check(const backplane_model* model, backplane_device* const* devices, uint32_t device_count,
                              const backplane_model_input* inputs, uint32_t input_count, char* json, size_t capacity,
                              size_t* size, bp_error* error) {
    return guarded(error, [&] {
        require(model, "model");
        const std::vector<Device> on = backplane::capi::devices_from(devices, device_count);
        give_text(backplane::model_check_json(model->model.check(on, inputs_from(inputs, input_count))).dump(), json,
                  capacity, size, "json");
    });
}

bp_code backplane_model_session_create(const backplane_model* model, backplane_context* context, const char* filter,
                                       const backplane_model_options* options, backplane_model_session** out,
                                       bp_error* error) {
    return guarded(error, [&] {
        require(model, "model");
        require(context, "context");
        require(out, "out");
        *out = nullptr;
        std::vector<Device> devices = context->context.choose_with_fallback(filter != nullptr ? filter : "");
        *out = new backplane_model_session{ModelSession(std::move(devices), model->model, options_from(options))};
    });
}

bp_code backplane_model_session_create_on(const backplane_model* model, backplane_device* const* devices,
                                          uint32_t device_count, const backplane_model_options* options,
                                          backplane_model_session** out, bp_error* error) {
    return guarded(error, [&] {
        require(model, "model");
        require(out, "out");
        *out = nullptr;
        std::vector<Device> on = backplane::capi::devices_from(devices, device_count);
        *out = new backplane_model_session{ModelSession(std::move(on), model->model, options_from(options))};
    });
}

void backplane_model_session_destroy(backplane_model_session* session) { delete session; }

bp_code backplane_model_session_run(backplane_model_session* session, const backplane_model_input* inputs,
                                    uint32_t input_count, const volatile uint32_t* cancel, backplane_model_results** out,
                                    bp_error* error) {
    return guarded(error, [&] {
        require(session, "session");
        require(out, "out");
        *out = nullptr;
        *out = new backplane_model_results{session->session.run(inputs_from(inputs, input_count), cancel_of(cancel))};
    });
}

bp_code backplane_model_session_run_into(backplane_model_session* session, const backplane_model_input* inputs,
                                         uint32_t input_count, const backplane_value* outputs, uint32_t output_count,
                                         const volatile uint32_t* cancel, bp_error* error) {
    return guarded(error, [&] {
        require(session, "session");
        const std::vector<Output> into = outputs_from(outputs, output_count);
        session->session.run(inputs_from(inputs, input_count), into, cancel_of(cancel));
    });
}

bp_code backplane_model_session_prepare(backplane_model_session* session, const backplane_model_input* inputs,
                                        uint32_t input_count, backplane_model_value* outputs, uint32_t capacity,
                                        uint32_t* count, bp_error* error) {
    return guarded(error, [&] {
        require(session, "session");
        write_values(session->session.prepare(inputs_from(inputs, input_count)), session->session.model().outputs(), outputs,
                     capacity, count);
    });
}

uint32_t backplane_model_results_count(const backplane_model_results* results) {
    return results == nullptr ? 0 : static_cast<uint32_t>(results->results.size());
}

bp_code backplane_model_results_value(const backplane_model_results* results, uint32_t i, backplane_model_value* value,
                                      bp_error* error) {
    return guarded(error, [&] {
        require(results, "results");
        require(value, "value");
        const ModelResult* result = result_at(results, i);
        if (result == nullptr) throw Error(Code::not_found, "there is no output " + std::to_string(i));
        write_value({{}, result->dtype, result->shape, {}, true, result->is_unsigned}, result->name, value);
    });
}

const void* backplane_model_results_data(const backplane_model_results* results, uint32_t i) {
    const ModelResult* result = result_at(results, i);
    return result == nullptr ? nullptr : result->bytes.data();
}

uint64_t backplane_model_results_bytes(const backplane_model_results* results, uint32_t i) {
    const ModelResult* result = result_at(results, i);
    return result == nullptr ? 0 : result->bytes.size();
}

void backplane_model_results_destroy(backplane_model_results* results) { delete results; }
}
