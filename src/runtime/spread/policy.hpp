// Which devices run which part of a graph: a policy that makes the parts of a plan, and nothing else.
#pragma once

#include <string>
#include <vector>

#include "runtime/session_core.hpp"

namespace backplane::runtime {

// Each part is run by the first device that supports all of its nodes and computes them rightly; those behind it stand in. `notes` gets a
// sentence for what is not where it was wanted. Throws Error(unsupported) naming the nodes that no device runs.
std::vector<PlannedPart> spread_parts(const std::vector<Device>& devices, const Graph& graph, Weights::State& weights,
                                      bool check_ops, std::vector<std::string>& notes);

}  // namespace backplane::runtime
