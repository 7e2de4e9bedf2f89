// Which devices a network's parts are on, as it is typed.
#pragma once

#include <string>
#include <vector>

#include "cli/cli.hpp"

namespace backplane::cli {

struct PlaceChoice {
    std::string place;  // "encoder=cuda:0+cuda:1", "encoder=rows:cuda:0+cuda:1"
};
void add_place_option(const Command& command, PlaceChoice& choice);  // --place

struct Placed {
    std::vector<Device> devices;  // best first; those that take layers, and what stands in for them
    size_t layers = 1;            // so many of them take a part of the encoder's layers each
    uint32_t rows = 1;            // or of the rows of its products
};
// Without --place: as open_with_fallback(). Throws UsageError, and what Context::choose() throws.
Placed open_placed(const Context& context, const DeviceChoice& device, const PlaceChoice& choice);

}  // namespace backplane::cli
