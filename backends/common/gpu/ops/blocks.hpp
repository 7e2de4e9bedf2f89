// Weights in blocks, laid out as the kernels of products read them (kernels/planes.h).
#pragma once

#include "common/gpu/lowering.hpp"

namespace backplane::gpu {

inline constexpr int64_t kSpan = 128;  // elements of a column that stand together

// Of all columns: the last of each is filled up.
int64_t spans_of(const Value& blocks);
// A little more than the value has, but for columns that are no whole spans.
uint64_t bytes_of_planes(const Value& blocks);
// Is this a weight of which pack() makes planes? Products read it, and else only Gathers that make f32 of it.
bool is_read_as_planes(const Plan& plan, const backend::Readers& readers, ValueId id);
// The planes of a value of a block type: pack() makes them of such a weight, the program of a constant, once; each run of what else there is.
ValueId planes_of(Lowering& to, ValueId blocks);

}  // namespace backplane::gpu
