// What is said to ggml: nodes that keep the rules of ops.h, of sizes and element types that ggml has. It ends the process on tensors that do
// not fit, so a graph that lies is refused before any of it is said.
#pragma once

#include "lowering.hpp"

namespace backplane::ggml {

// Throws Refusal.
void check_node(const sdk::GraphView& view, const Node& node);

}  // namespace backplane::ggml
