// What ops there are to be paid for: kinds of work, how much of it a node has, and which nodes a device does in one go.
#pragma once

#include <string>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane::runtime {

// Floating-point operations of a product, a convolution or attention, as written; 0 of all else.
[[nodiscard]] double operations_of(const Graph& graph, const Node& node);

struct Work {
    std::string kind;    // "product f16": a curve of DeviceCosts::ops; empty: costs nothing, or is in another node's
    double amount = 0;   // operations or bytes, as the curve has them
    double weights = 0;  // bytes of them, which are read whatever the amount
    double extra = 0;    // bytes that a node in another's kernel reads beside what that has
    double times = 1;    // one after the other (the steps of a recurrent layer)
};

// By node. Element-wise ops on what a single node made are in that node's kernel.
[[nodiscard]] std::vector<Work> work_of_nodes(const Graph& graph);

}  // namespace backplane::runtime
