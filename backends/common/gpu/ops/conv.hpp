// Which convolutions take and make maps in bundles (Value::bundled).
#pragma once

#include "common/gpu/lowering.hpp"

namespace backplane::gpu::ops::conv {

// Of a Conv whose result is in bundles or, with `made` false, planes.
bool takes_bundles(const Lowering& to, const Node& node, bool made);
// Of a Conv whose operand lies in planes.
bool makes_bundles(const Lowering& to, const Node& node);

}  // namespace backplane::gpu::ops::conv
