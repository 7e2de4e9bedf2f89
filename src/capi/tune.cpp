#include "backplane/tune.h"

#include "backplane/tune.hpp"
#include "capi/handles.hpp"

using backplane::TuneOptions;
using backplane::TuneResult;
using backplane::capi::guarded;
using backplane::capi::put;
using backplane::capi::read_record;
using backplane::capi::require;

namespace {

TuneOptions options_from(const backplane_tune_options* options) {
    const backplane_tune_options given = read_record(options);
    TuneOptions mine;
    if (given.runs > INT32_MAX)
        throw backplane::Error(backplane::Code::invalid, "runs is " + std::to_string(given.runs) + ": too many");
    if (given.runs != 0) mine.runs = static_cast<int>(given.runs);
    if (given.seconds != 0) mine.seconds = given.seconds;
    mine.software = given.software != 0;
    mine.cancel = backplane::capi::cancel_of(given.cancel);
    if (given.progress != nullptr)
        mine.progress = [tell = given.progress, arg = given.progress_arg](const std::string& device) {
            tell(arg, device.c_str());
        };
    return mine;
}

}  // namespace

extern "C" {

bp_code backplane_tune(backplane_context* context, backplane_graph* graph, backplane_weight_source source, void* arg,
                       const backplane_tune_options* options, backplane_tune_result* results, uint32_t capacity,
                       uint32_t* count, bp_error* error) {
    return guarded(error, [&] {
        require(context, "context");
        require(graph, "graph");
        require(count, "count");
        if (capacity > 0) require(results, "results");
        const std::vector<TuneResult> found =
            backplane::tune(context->context, graph->graph, backplane::capi::source_of(source, arg), options_from(options));
        backplane::capi::give_records(found, results, capacity, count, BP_SIZE(backplane_tune_result, milliseconds),
                                      "backplane_tune_result", [](const TuneResult& from, backplane_tune_result& into) {
                                          into.milliseconds = from.milliseconds;
                                          into.first_ms = from.first_ms;
                                          put(into.device, from.device);
                                          put(into.failure, from.failure);
                                      });
    });
}

bp_code backplane_tuned_device(backplane_context* context, backplane_graph* graph, char* device, size_t capacity,
                               size_t* size, bp_error* error) {
    return guarded(error, [&] {
        require(context, "context");
        require(graph, "graph");
        backplane::capi::give_text(backplane::tuned_device(context->context, graph->graph), device, capacity, size,
                                   "device");
    });
}

}  // extern "C"
