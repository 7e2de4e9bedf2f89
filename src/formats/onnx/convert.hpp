// ONNX models as graphs.
#pragma once

#include <functional>
#include <string>

#include "backplane/graph.hpp"
#include "formats/onnx/model.hpp"

namespace backplane::formats {

// The content of an input of the model that is known when the graph is made; null: it is not.
using OnnxKnown = std::function<const OnnxTensor*(const std::string& name)>;

// The graph of a model's nodes (operators of opset 6 to 17, as far as docs/onnx.md says; of younger ones what is the same). Initializers become
// constants. What depends on constants and shapes alone is computed here. An operand of ONNX that is an attribute here (axes, pads, a shape, k,
// limits) must be such a constant, or an input that `known` knows; the graph has no input of that name then, unless another node takes it as a
// tensor. Nor has it inputs that nothing takes.
// Throws Error: unsupported (an operator, attribute, type or size that graphs do not have; it begins with the operator's name), invalid (what a check of an
// op says, or names that no node writes).
Graph graph_of(const OnnxModel& model, const OnnxKnown& known = {});

}  // namespace backplane::formats
