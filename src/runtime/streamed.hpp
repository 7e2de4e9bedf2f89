// A graph whose weights need more memory than there is: a policy that makes the parts of a plan, and nothing else.
#pragma once

#include <vector>

#include "runtime/session_core.hpp"

namespace backplane::runtime {

// The graph cut in the order of its nodes into parts for the first device; those at the front keep their weights on it, the others have theirs
// copied for each run into a ring of two places. Empty: the weights fit into `budget` bytes as they are. Throws Error(no_device_memory)
// naming the weight that is too large for a part.
std::vector<PlannedPart> streamed_parts(const Graph& graph, uint64_t budget);

}  // namespace backplane::runtime
