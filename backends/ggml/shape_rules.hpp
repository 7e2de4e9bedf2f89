// The rules of ops.h: how many operands an op has, which attributes, and what shape follows. ggml ends the process on tensors that do not
// fit, so a graph that lies is refused before any of it is said to ggml.
#pragma once

#include "lowering.hpp"

namespace backplane::ggml {

// Throws Refusal.
void check_node(const Lowering& lowering, const bp_node& node);

}  // namespace backplane::ggml
