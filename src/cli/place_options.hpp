// Which devices a network's parts are on, as it is typed: by name, or by what work costs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backplane/cost.hpp"
#include "cli/cli.hpp"
#include "models/parakeet/recognizer.hpp"

namespace backplane::cli {

struct PlaceChoice {
    // "auto", "auto=cuda:0+cpu", "encoder=cuda:0+cuda:1", "encoder=rows:cuda:0+cuda:1", "encoder=cuda:0,decoder=cpu"
    std::string place;
    [[nodiscard]] bool is_auto() const { return place == "auto" || place.starts_with("auto="); }
    [[nodiscard]] std::vector<std::string> among() const;  // auto: of these devices alone, as they are typed; empty: of all
    [[nodiscard]] bool is_named() const { return !place.empty() && !is_auto(); }
};
void add_place_option(const Command& command, PlaceChoice& choice);       // --place, of encoder and decoder
void add_place_auto_option(const Command& command, PlaceChoice& choice);  // --place auto, of networks of one part

struct Placed {
    std::vector<Device> devices;     // best first; those that take layers, and what stands in for them
    size_t layers = 1;               // so many of them take a part of the encoder's layers each
    uint32_t rows = 1;               // or of the rows of its products
    uint32_t frames = 1;             // or of its frames
    std::vector<double> shares;      // of the layers
    std::optional<size_t> decoder;   // the device of this number has it
    std::string why;                 // a sentence, of what was placed by costs
    std::optional<Placement> found;  // likewise; nothing: no costs said anything
    [[nodiscard]] parakeet::Places places() const { return {layers, shares, rows, frames, decoder}; }
};
// By names, or without --place: as open_with_fallback(). Throws UsageError, and what Context::choose() throws.
Placed open_placed(const Context& context, const DeviceChoice& device, const PlaceChoice& choice);

// By costs: where so many batches of the graph would be done first, among all devices that compute in hardware. Costs that are not known are measured.
// `most_parts`: devices that may take a part of its layers each. Where nothing is known or fits: as open_with_fallback(), and `why` says so.
struct PlacedGraph {
    Graph graph;
    std::function<std::vector<Fit>(const Device&)> ways;
    int64_t batches = 1;
    size_t most_parts = 1;
    std::vector<std::string> among;  // filters of devices; empty: all that compute in hardware
};
Placed place_by_costs(const Context& context, const DeviceChoice& device, CostModel& costs, const PlacedGraph& what,
                      Run& run);

Json placed_json(const Placed& placed);  // {"devices", "shares", "seconds", "why"}

}  // namespace backplane::cli
