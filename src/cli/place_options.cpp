#include "cli/place_options.hpp"

#include <algorithm>

#include "cli/usage.hpp"

namespace backplane::cli {

namespace {

bool holds(const std::vector<Device>& devices, const Device& device) {
    return std::any_of(devices.begin(), devices.end(), [&](const Device& d) { return d.info().id == device.info().id; });
}

}  // namespace

void add_place_option(const Command& command, PlaceChoice& choice) {
    command
        .option("--place", choice.place,
                "The encoder's layers on several devices of like speed, which work on different batches at a time: "
                "encoder=cuda:0+cuda:1; the decoder is on the last of them. Or the rows of its products, so that they work "
                "on each "
                "batch together, over a fast link: encoder=rows:cuda:0+cuda:1; the decoder is on the first")
        .type("encoder=[rows:]DEVICE+DEVICE");
}

Placed open_placed(const Context& context, const DeviceChoice& device, const PlaceChoice& choice) {
    if (choice.place.empty()) return {open_with_fallback(context, device), 1};
    constexpr std::string_view kEncoder = "encoder=";
    if (!choice.place.starts_with(kEncoder) || choice.place.find_first_of(",=", kEncoder.size()) != std::string::npos)
        throw UsageError("--place '" + choice.place +
                         "': the encoder's layers are what is placed; write it as encoder=cuda:0+cuda:1");
    if (!device.device.empty()) throw UsageError("--device and --place both name devices: give one of them");
    constexpr std::string_view kRows = "rows:";
    const bool rows = choice.place.substr(kEncoder.size()).starts_with(kRows);
    Placed placed;
    for (size_t start = kEncoder.size() + (rows ? kRows.size() : 0); start <= choice.place.size();) {
        const size_t end = std::min(choice.place.find('+', start), choice.place.size());
        const std::string one = choice.place.substr(start, end - start);
        start = end + 1;
        if (one.empty())
            throw UsageError("--place '" + choice.place + "' lacks a device; write it as encoder=cuda:0+cuda:1");
        DeviceChoice wanted = device;
        wanted.device = one;
        for (const Device& opened : open_with_fallback(context, wanted)) {
            if (holds(placed.devices, opened))
                throw UsageError("--place '" + choice.place + "' names " + opened.info().id +
                                 " twice; give each part a device of its own");
            placed.devices.push_back(opened);
            break;  // what stands in comes behind all of them
        }
    }
    if (rows)
        placed.rows = static_cast<uint32_t>(placed.devices.size());
    else
        placed.layers = placed.devices.size();
    DeviceChoice first = device;
    first.device = placed.devices.front().info().id;
    for (const Device& opened : open_with_fallback(context, first))
        if (!holds(placed.devices, opened)) placed.devices.push_back(opened);
    return placed;
}

}  // namespace backplane::cli
