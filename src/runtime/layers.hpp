// Where a graph is cut into parts for devices that take turns with batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane::runtime {

// What a node costs a device that does two hundred operations in the time of a byte: operations of products, and bytes of what is no weight.
[[nodiscard]] double work_of(const Graph& graph, const Node& node);

// Behind each node, how many bytes that were made up to there are read later.
[[nodiscard]] std::vector<uint64_t> crossing(const Graph& graph);

// The nodes of each of `parts`, in the graph's order, none empty: as even in work as the graph allows within a twentieth of a part, and within that
// where the fewest bytes go from part to part. There are at least as many nodes.
[[nodiscard]] std::vector<std::vector<size_t>> layers(const Graph& graph, size_t parts);
// The same with so much of the work in each; they sum to 1.
[[nodiscard]] std::vector<std::vector<size_t>> layers(const Graph& graph, const std::vector<double>& shares);

// In how many rounds devices do best that take turns with some batches: with more of them the last has something to do earlier, and more crosses.
[[nodiscard]] size_t rounds_of(const Graph& graph, size_t devices);

}  // namespace backplane::runtime
