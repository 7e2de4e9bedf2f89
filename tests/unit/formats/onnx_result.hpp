// What graphs made of ONNX models give, on the reference.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/element_types.hpp"
#include "graph/evaluate.hpp"
#include "onnx_bytes.hpp"

namespace backplane::onnx_bytes {

// A model of one input x and of these nodes, which write y.
inline std::string model_of_x(const std::string& nodes, const std::vector<std::string>& extents, uint64_t opset = 17) {
    return model(input(value("x", kF32, extents)) + output(value("y", kF32, {})) + nodes, opset);
}

struct Made {
    Shape shape;
    std::vector<double> numbers;
};

// The first output of the graph.
inline Made made_by(const Graph& graph, std::span<const graph::TensorBytes> inputs) {
    const TensorInfo& y = graph[graph.with_role(Role::output).front()];
    std::vector<std::byte> room(bytes(y.dtype, y.shape));
    const graph::TensorRoom rooms[] = {{graph.with_role(Role::output).front(), room}};
    graph::evaluate(graph, inputs, rooms);
    return {y.shape, graph::decode(room, y.dtype)};
}
// The same of a graph of x, which is 1, 2 and so on behind the numbers that are given.
inline Made made_of_x(const Graph& graph, std::vector<float> x = {}) {
    const auto count = static_cast<size_t>(elements(graph[graph.find("x")].shape));
    while (x.size() < count) x.push_back(static_cast<float>(x.size() + 1));
    const graph::TensorBytes inputs[] = {{graph.find("x"), std::as_bytes(std::span(x))}};
    return made_by(graph, inputs);
}

}  // namespace backplane::onnx_bytes
