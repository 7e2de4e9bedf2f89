#include "backplane/fit.h"

#include "capi/fits.hpp"

using backplane::Code;
using backplane::Error;
using backplane::Fit;
using backplane::FitOptions;
using backplane::capi::guarded;
using backplane::capi::require;

namespace backplane::capi {

const Fit& way_of(const backplane_fits& fits, uint32_t i) {
    if (i >= fits.ways.size())
        throw Error(Code::not_found,
                    "there is no way " + std::to_string(i) + "; there are " + std::to_string(fits.ways.size()));
    return fits.ways[i];
}

uint32_t place_of(const backplane_fits& fits, const Fit& way) {
    for (size_t i = 0; i < fits.devices.size(); ++i)
        if (fits.devices[i].info().id == way.device) return static_cast<uint32_t>(i);
    throw Error(Code::internal, "a way is of no device: " + way.device);
}

namespace {

FitOptions fit_options_from(const backplane_fit_options* options, const std::vector<Device>& devices) {
    const backplane_fit_options given = read_record(options);
    FitOptions mine;
    mine.compile.math = static_cast<Math>(given.math);
    mine.compile.workspace_limit = given.workspace_limit;
    mine.compile.cancel = cancel_of(given.cancel);
    mine.streaming = streaming_from(given.streaming);
    for (size_t i = 0; given.memory != nullptr && i < devices.size(); ++i)
        if (given.memory[i] != 0) mine.memory[devices[i].info().id] = given.memory[i];
    return mine;
}

void write_fit(const backplane_fits& fits, const Fit& way, backplane_fit* out) {
    backplane_fit mine{};
    mine.device = place_of(fits, way);
    mine.streamed = way.streamed ? 1 : 0;
    mine.fits = way.fits ? 1 : 0;
    mine.possible = way.possible ? 1 : 0;
    mine.available = way.available;
    mine.budget = way.budget;
    mine.weight_budget = way.weight_budget;
    mine.needs = way.needs;
    mine.weights = way.weights;
    mine.ring = way.ring;
    mine.state = way.state;
    mine.values = way.values;
    mine.workspace = way.workspace;
    mine.moved = way.moved;
    mine.id = way.device.c_str();
    mine.problem = way.problem.c_str();
    mine.plan_text = way.plan_text.c_str();
    mine.plan_json = way.plan_json.c_str();
    write_record(mine, out, BP_SIZE(backplane_fit, needs), "backplane_fit");
}

}  // namespace
}  // namespace backplane::capi

extern "C" {

bp_code backplane_fits_create(backplane_device* const* devices, uint32_t device_count, backplane_graph* graph,
                              const backplane_fit_options* options, backplane_fits** out, bp_error* error) {
    return guarded(error, [&] {
        require(graph, "graph");
        require(out, "out");
        *out = nullptr;
        std::vector<backplane::Device> all = backplane::capi::devices_from(devices, device_count);
        const FitOptions how = backplane::capi::fit_options_from(options, all);
        std::vector<Fit> ways = backplane::fits(all, graph->graph, how);
        *out = new backplane_fits{std::move(all), std::move(ways)};
    });
}

void backplane_fits_destroy(backplane_fits* fits) { delete fits; }

uint32_t backplane_fits_count(const backplane_fits* fits) {
    return fits != nullptr ? static_cast<uint32_t>(fits->ways.size()) : 0;
}

bp_code backplane_fits_get(const backplane_fits* fits, uint32_t i, backplane_fit* fit, bp_error* error) {
    return guarded(error, [&] {
        require(fits, "fits");
        require(fit, "fit");
        backplane::capi::write_fit(*fits, backplane::capi::way_of(*fits, i), fit);
    });
}

bp_code backplane_fits_best(const backplane_fits* fits, uint32_t streaming, backplane_fit* fit, bp_error* error) {
    return guarded(error, [&] {
        require(fits, "fits");
        require(fit, "fit");
        const Fit* best = backplane::best_fit(fits->ways, backplane::capi::streaming_from(streaming));
        if (best == nullptr) throw Error(Code::no_device_memory, backplane::what_would_fit(fits->ways));
        backplane::capi::write_fit(*fits, *best, fit);
    });
}

bp_code backplane_fits_text(const backplane_fits* fits, char* text, size_t capacity, size_t* size, bp_error* error) {
    return guarded(error, [&] {
        require(fits, "fits");
        backplane::capi::give_text(backplane::what_would_fit(fits->ways), text, capacity, size, "text");
    });
}

}  // extern "C"
