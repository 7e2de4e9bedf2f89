// ONNX models as graphs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backplane/graph.hpp"
#include "formats/onnx/model.hpp"

namespace backplane::formats {

// The content of an input of the model that is known when the graph is made; null: it is not.
using OnnxKnown = std::function<const OnnxTensor*(const std::string& name)>;

// What is said of the inputs of a model beside the model.
struct OnnxGiven {
    // Asked for where the graph depends on it: a size, axes, the condition of an If.
    OnnxKnown content;
    // The shape of an input; null: that of its content, else what the model says.
    std::function<const Shape*(const std::string& name)> shape;
};

// The graph of a model's nodes (operators of opset 6 to 24, as far as docs/onnx.md says). Initializers become constants, those that prepared() has
// named weights. What depends on constants and shapes alone is computed here. An operand of ONNX that is an attribute here (axes, pads, a shape, k,
// limits) and the condition of an If must follow from constants, shapes and inputs whose content is known: the graph is that of this content then, and
// has no such input unless another node takes it as a tensor. Nor has it nodes whose results nobody asks for, or inputs that nothing takes.
// Each node has the name of the one of ONNX that it is a part of.
// Throws Error: unsupported (an operator, attribute, type or size that graphs do not have; it begins with the operator's name), invalid (what a check of an
// op says, or names that no node writes).
Graph graph_of(const OnnxModel& model, const OnnxGiven& given = {});

// What a node of the model comes to.
struct OnnxNodeFound {
    std::string name, op;       // the node's name, else its first result's
    std::vector<size_t> nodes;  // of the graph
    std::string why;            // why there is none of it; empty: there is, or it is computed when the graph is made
    bool reached = true;        // false: it takes what a node that there is not would give, and was not looked at
};

// The same, node by node and beyond the first that does not go; those of the branches that are taken are among them. The graph has the nodes that did
// go, and no outputs where not all did.
struct OnnxFindings {
    Graph graph;
    std::vector<OnnxNodeFound> nodes;
    bool whole = false;
};
OnnxFindings findings_of(const OnnxModel& model, const OnnxGiven& given = {});

}  // namespace backplane::formats
