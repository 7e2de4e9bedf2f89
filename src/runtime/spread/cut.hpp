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

// By tensor the node that makes it; SIZE_MAX: none does, it is there before the run.
std::vector<size_t> makers(const Graph& graph);

// `device_of`: of each node, kNoDevice for those that are done already. A part takes in every node of its device that can run by then, so
// that there are few parts.
std::vector<Part> cut(const Graph& graph, const std::vector<size_t>& device_of);

// A part as a graph of its own. Its inputs and outputs are called "t" and the tensor's number in the whole graph; weights and states keep
// their names.
struct PartGraph {
    Graph graph;
    std::vector<TensorId> whole;  // of each tensor of `graph`: which it is in the whole graph
};

// What is read outside the part, or is a result of the whole graph, becomes an output. A state that this part alone reads and writes is a
// state of the part; of any other, the part that reads it has an input, and the one that writes it an output.
// `parts`: the nodes of each; no node is in two. The whole graph is looked through once for all of them.
std::vector<PartGraph> part_graphs(const Graph& whole, const std::vector<std::vector<size_t>>& parts);

std::string part_name(TensorId tensor);  // "t12"

}  // namespace backplane::runtime
