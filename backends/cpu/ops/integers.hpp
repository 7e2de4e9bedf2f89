// Element-wise ops on i32 and i64: shapes and indices, not the bulk of a network.
#pragma once

#include <cstdint>

#include "plan.hpp"

namespace backplane::cpu {

// out[i] = op(x[i]); least and most: attributes of Clip.
using IntegerUnary = void (*)(const std::byte* x, std::byte* out, int64_t n, double least, double most);
// out[i] = op(x[i * x_step], y[i * y_step])
using IntegerBinary = void (*)(const std::byte* x, int64_t x_step, const std::byte* y, int64_t y_step, std::byte* out,
                               int64_t n);

// Null: not an op on integers. Sums and products wrap; division truncates; it and what it leaves are 0 for a divisor
// of 0, as are powers below 0 of 0.
IntegerUnary find_integer_unary(uint32_t op, uint32_t dtype);
IntegerBinary find_integer_binary(const Node& node, uint32_t dtype);

}  // namespace backplane::cpu
