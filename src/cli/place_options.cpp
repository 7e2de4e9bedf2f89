#include "cli/place_options.hpp"

#include <algorithm>

#include "cli/measure_costs.hpp"
#include "cli/usage.hpp"

namespace backplane::cli {

namespace {

bool holds(const std::vector<Device>& devices, const Device& device) {
    return std::any_of(devices.begin(), devices.end(), [&](const Device& d) { return d.info().id == device.info().id; });
}

// "xyz:0", of a backend that no module here is of and of no other thing a filter may name.
bool names_nothing(const Context& context, const std::string& filter) {
    if (filter.find_first_of(",=!") != std::string::npos || filter.find(':') != filter.rfind(':') || filter == "auto")
        return false;
    const std::string backend = filter.substr(0, filter.find(':'));
    for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::discrete, DeviceKind::integrated, DeviceKind::virtual_gpu,
                                  DeviceKind::accelerator, DeviceKind::software})
        if (backend == name_of(kind)) return false;
    return std::ranges::none_of(context.report().candidates, [&](const Candidate& candidate) {
        return candidate.descriptor && candidate.descriptor->backend == backend;
    });
}

// The device of the filter alone: what stands in comes behind all that are named.
Device first_of(const Context& context, const DeviceChoice& device, const std::string& filter) {
    DeviceChoice wanted = device;
    wanted.device = filter;
    try {
        return open_with_fallback(context, wanted).front();
    } catch (const Error& error) {
        if (error.code() != Code::not_found) throw;
        const std::string text = "--place names '" + filter + "': " + error.what();
        if (names_nothing(context, filter)) throw UsageError(text);
        throw Error(error.code(), text);
    }
}

void add_what_stands_in(const Context& context, const DeviceChoice& device, std::vector<Device>& devices) {
    DeviceChoice first = device;
    first.device = devices.front().info().id;
    for (const Device& opened : open_with_fallback(context, first))
        if (!holds(devices, opened)) devices.push_back(opened);
}

std::vector<std::string> split(const std::string& text, char by) {
    std::vector<std::string> all;
    for (size_t start = 0; start <= text.size();) {
        const size_t end = std::min(text.find(by, start), text.size());
        all.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return all;
}

void place_encoder(const Context& context, const DeviceChoice& device, const PlaceChoice& choice, const std::string& text,
                   Placed& placed) {
    constexpr std::string_view kRows = "rows:", kFrames = "frames:";
    const bool rows = text.starts_with(kRows), frames = text.starts_with(kFrames);
    const size_t how = rows ? kRows.size() : frames ? kFrames.size() : 0;
    for (const std::string& one : split(text.substr(how), '+')) {
        if (one.empty())
            throw UsageError("--place '" + choice.place + "' lacks a device; write it as encoder=cuda:0+cuda:1");
        const Device opened = first_of(context, device, one);
        if (holds(placed.devices, opened))
            throw UsageError("--place '" + choice.place + "' names " + opened.info().id +
                             " twice; give each part a device of its own");
        placed.devices.push_back(opened);
    }
    const auto count = static_cast<uint32_t>(placed.devices.size());
    if ((rows || frames) && count < 2)
        throw UsageError("--place '" + choice.place + "' names one device, and rows and frames are shared by two or more");
    if (rows)
        placed.rows = count;
    else if (frames)
        placed.frames = count;
    else
        placed.layers = count;
}

void place_decoder(const Context& context, const DeviceChoice& device, const PlaceChoice& choice, const std::string& text,
                   Placed& placed) {
    if (text.empty() || text.find('+') != std::string::npos)
        throw UsageError("--place '" + choice.place +
                         "': the decoder is on one device; write it as encoder=cuda:0,decoder=cpu");
    const Device opened = first_of(context, device, text);
    const auto found = std::find(placed.devices.begin(), placed.devices.end(), opened);
    placed.decoder = static_cast<size_t>(found - placed.devices.begin());
    if (found == placed.devices.end()) placed.devices.push_back(opened);
}

}  // namespace

std::vector<std::string> PlaceChoice::among() const {
    constexpr std::string_view kAmong = "auto=";
    if (!place.starts_with(kAmong)) return {};
    std::vector<std::string> all = split(place.substr(kAmong.size()), '+');
    if (std::ranges::any_of(all, [](const std::string& one) { return one.empty(); }))
        throw UsageError("--place '" + place + "' lacks a device; write it as auto=cuda:0+cpu");
    return all;
}

void add_place_option(const Command& command, PlaceChoice& choice) {
    command
        .option(
            "--place", choice.place,
            "auto: by what work costs on the devices, measured when it is not known; auto=cuda:0+cpu: on these alone. Or "
            "by name: encoder and decoder on a device each, encoder=cuda:0,decoder=cpu; the encoder's layers on several "
            "devices, which work on different batches at a time, encoder=cuda:0+cuda:1; or, so that they work on each "
            "batch together over a fast link, parts of its frames, each with all weights, encoder=frames:cuda:0+cuda:1, or "
            "the rows of its products, each with its part of the weights, encoder=rows:cuda:0+cuda:1")
        .type("auto[=DEVICE+DEVICE]|encoder=[frames:|rows:]DEVICE+DEVICE[,decoder=DEVICE]");
}

void add_place_auto_option(const Command& command, PlaceChoice& choice) {
    command
        .option("--place", choice.place,
                "auto: on the device that would be done first by what work costs there, measured when it is not known; "
                "auto=cuda:0+cpu: of these alone")
        .type("auto[=DEVICE+DEVICE]")
        .check([](const std::string& place) -> std::string {
            if (PlaceChoice{place}.is_auto()) return "";
            return "a network of one part takes auto, or auto=cuda:0+cpu, and not " + place;
        });
}

Placed open_placed(const Context& context, const DeviceChoice& device, const PlaceChoice& choice) {
    Placed placed;
    if (!choice.is_named()) {
        placed.devices = open_with_fallback(context, device);
        return placed;
    }
    if (!device.device.empty()) throw UsageError("--device and --place both name devices: give one of them");
    std::string encoder, decoder;
    for (const std::string& part : split(choice.place, ',')) {
        std::string& of = part.starts_with("decoder=") ? decoder : encoder;
        if ((!part.starts_with("encoder=") && !part.starts_with("decoder=")) || !of.empty())
            throw UsageError("--place '" + choice.place +
                             "': encoder and decoder are placed; write it as encoder=cuda:0,decoder=cpu");
        of = part;
    }
    constexpr size_t kName = std::string_view("encoder=").size();
    if (encoder.empty())
        placed.devices.push_back(open_with_fallback(context, device).front());
    else
        place_encoder(context, device, choice, encoder.substr(kName), placed);
    if (!decoder.empty()) place_decoder(context, device, choice, decoder.substr(kName), placed);
    add_what_stands_in(context, device, placed.devices);
    return placed;
}

Placed place_by_costs(const Context& context, const DeviceChoice& device, CostModel& costs, const PlacedGraph& what,
                      Run& run) {
    if (!device.device.empty()) throw UsageError("--device and --place both name devices: give one of them");
    std::vector<Device> devices;
    for (const std::string& filter : what.among) devices.push_back(first_of(context, device, filter));
    for (const DeviceInfo& info : context.devices())
        if (what.among.empty() && info.kind != DeviceKind::software && info.fault.empty())
            devices.push_back(context.choose(info.id));
    const std::vector<std::string> unknown = measure_costs(costs, devices, false, run);
    std::vector<std::vector<Fit>> ways;
    for (const Device& one : devices) ways.push_back(what.ways(one));
    Placed placed;
    placed.found = costs.place(devices, what.graph, ways, what.batches, what.most_parts);
    if (!placed.found) {
        placed.devices = open_with_fallback(context, device);
        placed.why = "what work costs says nothing of where it would be done first: " + context.why();
    } else {
        for (const uint32_t i : placed.found->devices) placed.devices.push_back(devices[i]);
        placed.layers = placed.devices.size();
        if (placed.layers > 1) placed.shares = placed.found->shares;
        placed.why = placed.found->text + ", done first by what work costs: " + milliseconds(placed.found->seconds);
        if (what.batches > 1) placed.why += " for " + std::to_string(what.batches) + " batches";
        add_what_stands_in(context, device, placed.devices);
    }
    for (const std::string& problem : unknown) placed.why += "; " + problem;
    return placed;
}

Json placed_json(const Placed& placed) {
    Json json{{"devices", Json::array()}, {"shares", placed.shares}, {"why", placed.why}};
    for (size_t i = 0; i < placed.layers; ++i) json["devices"].push_back(placed.devices[i].info().id);
    if (placed.found) json["seconds"] = placed.found->seconds;
    return json;
}

}  // namespace backplane::cli
