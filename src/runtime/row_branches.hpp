// Branches of a graph that do the same beside each other: work for as many devices.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane::runtime {

constexpr uint32_t kNoBranch = UINT32_MAX;

// By node the branch that it is of, from 0: where a Concat joins so many that are alike but for what they take (Slice, Pad), each of some nodes of which
// nothing else comes. kNoBranch: of none. Nodes that `stays_out` are in none.
[[nodiscard]] std::vector<uint32_t> branches_of(const Graph& graph, uint32_t count,
                                                const std::function<bool(const Node&)>& stays_out);

}  // namespace backplane::runtime
