// Several nodes of ONNX as the one that they are together.
#pragma once

#include "formats/onnx/model.hpp"

namespace backplane::formats {

// In a graph and in the branches of its nodes; then leaves out nodes and initializers that nothing needs (prepare.hpp says what becomes of what).
void simplify(OnnxModel& graph, int64_t opset);

}  // namespace backplane::formats
