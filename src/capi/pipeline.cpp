#include "backplane/pipeline.h"

#include <memory>

#include "backplane/pipeline.hpp"
#include "capi/handles.hpp"

using backplane::Pipeline;
using backplane::capi::cancel_of;
using backplane::capi::give_text;
using backplane::capi::guarded;
using backplane::capi::require;

struct backplane_pipeline {
    std::shared_ptr<Pipeline> pipeline;
};
struct backplane_pass {
    std::shared_ptr<Pipeline> pipeline;  // goes behind the pass
    Pipeline::Pass pass;
};

extern "C" {

bp_code backplane_pipeline_create(backplane_device* const* devices, uint32_t device_count, uint32_t parts,
                                  backplane_graph* graph, backplane_weights* weights,
                                  const backplane_session_options* options, backplane_pipeline** out, bp_error* error) {
    return guarded(error, [&] {
        require(graph, "graph");
        require(out, "out");
        *out = nullptr;
        *out = new backplane_pipeline{std::make_shared<Pipeline>(
            backplane::capi::devices_from(devices, device_count), parts, graph->graph,
            weights != nullptr ? weights->weights : backplane::Weights(), backplane::capi::session_options_from(options))};
    });
}

void backplane_pipeline_destroy(backplane_pipeline* pipeline) { delete pipeline; }

bp_code backplane_pipeline_start(backplane_pipeline* pipeline, const backplane_value* inputs, uint32_t input_count,
                                 const volatile uint32_t* cancel, backplane_pass** out, bp_error* error) {
    return guarded(error, [&] {
        require(pipeline, "pipeline");
        require(out, "out");
        *out = nullptr;
        const std::vector<backplane::Input> in = backplane::capi::inputs_from(inputs, input_count);
        *out = new backplane_pass{pipeline->pipeline, pipeline->pipeline->start(in, cancel_of(cancel))};
    });
}

bp_code backplane_pass_finish(backplane_pass* pass, const backplane_value* outputs, uint32_t output_count, bp_error* error) {
    return guarded(error, [&] {
        require(pass, "pass");
        pass->pipeline->finish(pass->pass, backplane::capi::outputs_from(outputs, output_count));
    });
}

void backplane_pass_destroy(backplane_pass* pass) { delete pass; }

bp_code backplane_pipeline_parts(backplane_pipeline* pipeline, backplane_part* parts, uint32_t capacity, uint32_t* count,
                                 bp_error* error) {
    return guarded(error, [&] {
        require(pipeline, "pipeline");
        require(count, "count");
        backplane::capi::give_records(pipeline->pipeline->times(), parts, capacity, count, BP_SIZE(backplane_part, seconds),
                                      "backplane_part", [](const backplane::PartTime& from, backplane_part& into) {
                                          into.passes = from.passes;
                                          into.seconds = from.seconds;
                                          backplane::capi::put(into.device, from.device);
                                      });
    });
}

bp_code backplane_pipeline_part_of(backplane_pipeline* pipeline, const char* input, uint32_t* part, bp_error* error) {
    return guarded(error, [&] {
        require(pipeline, "pipeline");
        require(input, "input");
        require(part, "part");
        *part = static_cast<uint32_t>(pipeline->pipeline->part_of(input));
    });
}

bp_code backplane_pipeline_bytes_peer(backplane_pipeline* pipeline, uint64_t* bytes, bp_error* error) {
    return guarded(error, [&] {
        require(pipeline, "pipeline");
        require(bytes, "bytes");
        *bytes = pipeline->pipeline->bytes_peer();
    });
}

bp_code backplane_pipeline_runs(backplane_pipeline* pipeline, backplane_stage_runs* stages, uint32_t capacity,
                                uint32_t* count, bp_error* error) {
    return guarded(error, [&] {
        require(pipeline, "pipeline");
        backplane::capi::give_runs(pipeline->pipeline->runs(), stages, capacity, count);
    });
}

bp_code backplane_pipeline_notes(backplane_pipeline* pipeline, char* text, size_t capacity, size_t* size, bp_error* error) {
    return guarded(error, [&] {
        require(pipeline, "pipeline");
        give_text(backplane::capi::lines_of(pipeline->pipeline->notes()), text, capacity, size, "text");
    });
}

bp_code backplane_pipeline_plan(backplane_pipeline* pipeline, char* text, size_t capacity, size_t* size, bp_error* error) {
    return guarded(error, [&] {
        require(pipeline, "pipeline");
        give_text(pipeline->pipeline->describe(), text, capacity, size, "text");
    });
}

}  // extern "C"
