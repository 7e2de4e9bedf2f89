// A network of another format on its way to GGUF.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backplane/gguf.hpp"
#include "models/esrgan/network.hpp"

namespace backplane::esrgan {

struct ImportedWeight {
    std::string name;
    Shape shape;
    std::vector<float> values;
};

// Layers that importers add around a network of pixels from 0 to 1; no other layer's name begins so.
inline constexpr std::string_view kReserved = "range.";
inline constexpr const char* kTo1 = "range.255_to_1";
inline constexpr const char* kTo255 = "range.1_to_255";

struct ImportedNetwork {
    std::string name;  // general.name
    std::string file;  // for messages
    std::vector<std::string> lines;
    std::vector<ImportedWeight> weights;

    // Throws Error(corrupt) when the layers do not fit together.
    [[nodiscard]] Network check() const;
    // With all of it; valid as long as this. Throws as check().
    [[nodiscard]] GgufWriter writer() const;
};

}  // namespace backplane::esrgan
