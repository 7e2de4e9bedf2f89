// Copies between strided views of values: what Transpose, Slice, Concat, DepthToSpace and their kin come down to.
#pragma once

#include "common/strided.hpp"
#include "lowering.hpp"

namespace backplane::cpu {

using backend::StridedView;

// Adds a step that copies size[0] x size[1] x ... elements, as many threads as pay; null when there are none, and nothing is added.
Step* add_copy(Lowering& to, std::string label, const std::vector<int64_t>& size, StridedView from, StridedView into);

// Bytes of an element of a plain type.
inline int64_t element_bytes(const Value& value) { return sdk::dtype_info(value.dtype).bytes; }

// Bytes a thread should move at least: below, handing out a chunk costs more than the copy.
inline constexpr int64_t kGrainBytes = 32768;

}  // namespace backplane::cpu
