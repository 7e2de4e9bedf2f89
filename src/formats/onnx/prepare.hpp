// What is done with a model once, for graphs of all sizes.
#pragma once

#include "formats/onnx/model.hpp"

namespace backplane::formats {

// The same model with fewer nodes: what follows from its initializers alone is one, in branches too; a BatchNormalization, factors and addends of channels
// are part of the convolution before them (whose results then differ in the last bits); several nodes that are one operator (HardSwish, Swish,
// LayerNormalization) are it. Tensors of a kilobyte or more get the name of a weight, one of its own for each. Throws what graph_of() throws for what it
// computes.
OnnxModel prepared(OnnxModel model);

// Type and bytes of the tensors that have the name of a weight, by it. They live as long as the model.
using OnnxWeights = std::map<std::string, std::pair<DType, std::span<const std::byte>>, std::less<>>;
OnnxWeights weights_of(const OnnxModel& model);

}  // namespace backplane::formats
