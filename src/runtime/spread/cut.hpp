// Cutting a graph into parts that each run on one device.
#pragma once

#include <cstddef>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane::runtime {

inline constexpr size_t kNoDevice = SIZE_MAX;

struct Part {
    size_t device = 0;
    std::vector<size_t> nodes;  // of the whole graph, in an order in which they can run
};

// `device_of`: of each node, kNoDevice for those that are done already. A part takes in every node of its device that can run by then, so
// that there are few parts.
std::vector<Part> cut(const Graph& graph, const std::vector<size_t>& device_of);

// A part as a graph of its own. Its inputs and outputs are called "t" and the tensor's number in the whole graph; weights keep their names.
struct PartGraph {
    Graph graph;
    std::vector<TensorId> inputs, outputs;  // in the whole graph: what must be there before, and what there is after
};

// What is read outside the part, or is a result or new state of the whole graph, becomes an output.
PartGraph part_graph(const Graph& whole, const Part& part);

std::string part_name(TensorId tensor);  // "t12"

}  // namespace backplane::runtime
