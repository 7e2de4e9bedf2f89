// A graph whose weights need more memory than there is: a policy that makes the parts of a plan, and nothing else.
#pragma once

#include <vector>

#include "runtime/session_core.hpp"

namespace backplane::runtime {

struct StreamedParts {
    std::vector<PlannedPart> parts;  // empty: the graph as it is fits
    uint64_t weight_budget = 0;      // for weights that stay and the ring: what parts_for_weights() makes the same parts of
};

// The graph cut in the order of its nodes into parts for the device; those at the front keep their weights on it, the others have theirs
// copied for each run into a ring of two places. As many stay as `budget` bytes hold beside everything else, by plans that are compiled for it and
// thrown away: of weights what the device makes of them counts, not what they are in the graph.
// Throws Error(no_device_memory) that says how much the graph takes, or names the weights that are too large for a part.
StreamedParts streamed_parts(const Device& device, const Graph& graph, uint64_t budget, const CompileOptions& options);

// The same by what weights and ring may take, whatever else the graph takes. Empty: all weights fit.
std::vector<PlannedPart> parts_for_weights(const Device& device, const Graph& graph, uint64_t weight_budget,
                                           const CompileOptions& options);

}  // namespace backplane::runtime
