// Weights to GGUF's block types (backplane/ops/blocks.hpp says what their bytes stand for).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "backplane/graph.hpp"

namespace backplane::formats {

bool can_quantise(DType dtype) noexcept;  // q8_0, q6_k, q5_k, q5_0, q4_k, q4_0

// What rows of so many numbers are stored in where `dtype` is wanted: that, blocks of 32 in the place of 256 with as many bits or more (q6_k: q8_0;
// q5_k, q4_k: q5_0); unknown: neither is whole in them.
DType quantised_type(DType dtype, int64_t row) noexcept;

// Blocks of finite numbers, as many as are whole blocks. q8_0 as graph::encode() makes it. The others by search: of scales (and of what is taken
// away) near those that the extremes ask for, the one that leaves the least sum of squared errors once digits are rounded to it and it is solved
// for them anew; in blocks of 256 then the whole numbers of the groups and the factors common to them. Throws Error(invalid) for other types and
// numbers.
std::vector<std::byte> quantise(std::span<const double> values, DType dtype);

}  // namespace backplane::formats
