#include "backplane/cost.h"

#include "backplane/cost.hpp"
#include "capi/fits.hpp"

using backplane::Code;
using backplane::CostCurve;
using backplane::Device;
using backplane::DeviceCosts;
using backplane::Error;
using backplane::Fit;
using backplane::capi::cancel_of;
using backplane::capi::give_records;
using backplane::capi::guarded;
using backplane::capi::place_of;
using backplane::capi::put;
using backplane::capi::read_record;
using backplane::capi::require;
using backplane::capi::way_of;
using backplane::capi::write_record;

struct backplane_costs {
    backplane::CostModel model;
};

namespace {

const DeviceCosts& costs_of(const backplane_costs& costs, const Device& device) {
    const DeviceCosts* known = costs.model.of(device);
    if (known == nullptr)
        throw Error(Code::not_found,
                    "what work costs on " + device.info().id + " is not known: it was not measured, or with another driver");
    return *known;
}

struct NamedCurve {
    std::string name;
    const CostCurve* curve;
    bool by_operations;
};

std::vector<NamedCurve> curves_of(const DeviceCosts& costs) {
    std::vector<NamedCurve> all;
    for (const auto& [kind, curve] : costs.ops) all.push_back({kind, &curve, DeviceCosts::is_by_operations(kind)});
    all.push_back({"up", &costs.up, false});
    all.push_back({"down", &costs.down, false});
    all.push_back({"streamed", &costs.streamed, false});
    for (const auto& [device, curve] : costs.from) all.push_back({"from " + device, &curve, false});
    return all;
}

std::vector<std::vector<Fit>> ways_by_device(const backplane_fits& fits) {
    std::vector<std::vector<Fit>> by_device(fits.devices.size());
    for (const Fit& way : fits.ways) by_device[place_of(fits, way)].push_back(way);
    return by_device;
}

void write_placement(const backplane::Placement& from, backplane_placement* out) {
    backplane_placement mine{};
    mine.parts = static_cast<uint32_t>(from.devices.size());
    mine.seconds = from.seconds;
    for (size_t i = 0; i < from.devices.size(); ++i) {
        mine.devices[i] = from.devices[i];
        mine.shares[i] = i < from.shares.size() ? from.shares[i] : 1;
        mine.by_part[i] = i < from.by_part.size() ? from.by_part[i] : 0;
    }
    put(mine.text, from.text);
    write_record(mine, out, BP_SIZE(backplane_placement, devices), "backplane_placement");
}

}  // namespace

extern "C" {

bp_code backplane_costs_create(backplane_context* context, backplane_costs** out, bp_error* error) {
    return guarded(error, [&] {
        require(context, "context");
        require(out, "out");
        *out = nullptr;
        *out = new backplane_costs{backplane::CostModel(context->context)};
    });
}

void backplane_costs_destroy(backplane_costs* costs) { delete costs; }

bp_code backplane_costs_measure(backplane_costs* costs, backplane_device* device, const backplane_measure_options* options,
                                bp_error* error) {
    return guarded(error, [&] {
        require(costs, "costs");
        require(device, "device");
        const backplane_measure_options given = read_record(options);
        std::vector<Device> others;
        if (given.other_count > 0) others = backplane::capi::devices_from(given.others, given.other_count);
        backplane::CostOptions mine;
        mine.cancel = cancel_of(given.cancel);
        if (!(given.seconds >= 0))
            throw Error(Code::invalid, "seconds is " + std::to_string(given.seconds) + ": 0 is the least, and means 20");
        if (given.seconds != 0) mine.seconds = given.seconds;
        if (given.progress != nullptr)
            mine.progress = [tell = given.progress, arg = given.progress_arg](const std::string& what, double done) {
                tell(arg, what.c_str(), done);
            };
        costs->model.measure(device->device, others, mine);
    });
}

bp_code backplane_costs_of(backplane_costs* costs, backplane_device* device, backplane_device_costs* known,
                           backplane_cost_curve* curves, uint32_t capacity, uint32_t* count, bp_error* error) {
    return guarded(error, [&] {
        require(costs, "costs");
        require(device, "device");
        require(known, "known");
        require(count, "count");
        const DeviceCosts& mine = costs_of(*costs, device->device);
        backplane_device_costs record{};
        record.measured = mine.measured;
        record.run = mine.run;
        write_record(record, known, BP_SIZE(backplane_device_costs, measured), "backplane_device_costs");
        give_records(curves_of(mine), curves, capacity, count, BP_SIZE(backplane_cost_curve, rate), "backplane_cost_curve",
                     [](const NamedCurve& from, backplane_cost_curve& into) {
                         into.by_operations = from.by_operations ? 1 : 0;
                         into.fixed = from.curve->fixed();
                         into.rate = from.curve->rate();
                         put(into.name, from.name);
                     });
    });
}

bp_code backplane_costs_seconds(backplane_costs* costs, backplane_device* device, const char* name, double work,
                                double* seconds, bp_error* error) {
    return guarded(error, [&] {
        require(costs, "costs");
        require(device, "device");
        require(name, "name");
        require(seconds, "seconds");
        std::string known;
        for (const NamedCurve& one : curves_of(costs_of(*costs, device->device))) {
            if (one.name == name) {
                *seconds = one.curve->seconds(work);
                return;
            }
            known += (known.empty() ? "" : ", ") + one.name;
        }
        throw Error(Code::not_found, "there is no curve '" + std::string(name) + "'; there are: " + known);
    });
}

bp_code backplane_costs_predict(backplane_costs* costs, backplane_graph* graph, const backplane_fits* fits, uint32_t i,
                                backplane_prediction* prediction, bp_error* error) {
    return guarded(error, [&] {
        require(costs, "costs");
        require(graph, "graph");
        require(fits, "fits");
        require(prediction, "prediction");
        const Fit& way = way_of(*fits, i);
        const backplane::Prediction found = costs->model.predict(fits->devices[place_of(*fits, way)], graph->graph, way);
        backplane_prediction mine{};
        mine.known = found.known ? 1 : 0;
        mine.seconds = found.seconds;
        mine.ops = found.ops;
        mine.copies = found.copies;
        mine.learnt = found.learnt;
        mine.runs = found.runs;
        mine.networks = found.networks;
        write_record(mine, prediction, BP_SIZE(backplane_prediction, seconds), "backplane_prediction");
    });
}

bp_code backplane_costs_learn(backplane_costs* costs, backplane_graph* graph, const backplane_fits* fits, uint32_t i,
                              double seconds, bp_error* error) {
    return guarded(error, [&] {
        require(costs, "costs");
        require(graph, "graph");
        require(fits, "fits");
        if (!(seconds > 0)) throw Error(Code::invalid, "a run took " + std::to_string(seconds) + " seconds: more than 0");
        const Fit& way = way_of(*fits, i);
        costs->model.learn(fits->devices[place_of(*fits, way)], graph->graph, way, seconds);
    });
}

bp_code backplane_costs_place(backplane_costs* costs, backplane_graph* graph, const backplane_fits* fits, int64_t batches,
                              uint32_t most_parts, backplane_placement* placement, bp_error* error) {
    return guarded(error, [&] {
        require(costs, "costs");
        require(graph, "graph");
        require(fits, "fits");
        require(placement, "placement");
        if (batches < 1) throw Error(Code::invalid, "cannot place " + std::to_string(batches) + " batches: 1 is the least");
        if (most_parts > BACKPLANE_MOST_PARTS)
            throw Error(Code::invalid, "most_parts is " + std::to_string(most_parts) + ": " +
                                           std::to_string(BACKPLANE_MOST_PARTS) + " is the most");
        const auto found = costs->model.place(fits->devices, graph->graph, ways_by_device(*fits), batches,
                                              most_parts == 0 ? 3 : most_parts);
        if (!found)
            throw Error(Code::not_found, "cannot place the graph: it fits nowhere, or what work costs is not known: " +
                                             backplane::what_would_fit(fits->ways));
        write_placement(*found, placement);
    });
}

}  // extern "C"
