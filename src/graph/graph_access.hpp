// The parts of a Graph, for the one place that puts a Graph together from plain data (from_abi.cpp).
#pragma once

#include <string>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane {

struct GraphAccess {
    static std::vector<TensorInfo>& tensors(Graph& graph) noexcept { return graph.tensors_; }
    static std::vector<Node>& nodes(Graph& graph) noexcept { return graph.nodes_; }
};

namespace graph {

// Throws Error(invalid) that begins with `what` when there can be no such tensor: unknown dtype, a rank over 8, a
// negative extent, too many elements, a block type whose last axis is no whole number of blocks.
void check_tensor(const std::string& what, DType dtype, const Shape& shape);

}  // namespace graph
}  // namespace backplane
