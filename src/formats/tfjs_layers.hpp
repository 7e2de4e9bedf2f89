// The layer list of a TensorFlow.js model.
#pragma once

#include <vector>

#include "formats/json_view.hpp"
#include "formats/tfjs.hpp"

namespace backplane::formats {

// `network` is modelTopology.model_config.config. Returns the layers that its one output needs, each after its inputs.
std::vector<TfjsLayer> read_tfjs_layers(const JsonView& network);

}  // namespace backplane::formats
