// Elements moved from one value to another, for ops that want them laid out otherwise or in another type.
#pragma once

#include <string>
#include <vector>

#include "common/gpu/lowering.hpp"
#include "common/strided.hpp"

namespace backplane::gpu::ops::moves {

// Elements of a loop nest of these extents, by the strides of each view.
void add_copy(Lowering& to, const std::string& label, const std::vector<int64_t>& size, const backend::StridedView& from,
              const backend::StridedView& into);
// To the type of `out`.
void add_cast(Lowering& to, ValueId in, ValueId out);

}  // namespace backplane::gpu::ops::moves
