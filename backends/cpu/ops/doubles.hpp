// Element-wise ops on f64. Not the bulk of a network either: right, on all threads, and as fast as the system's own functions are.
#pragma once

#include <cstdint>

#include "lowering.hpp"

namespace backplane::cpu {

// out[i] = op(x[i * x_step], y[i * y_step])
using DoubleBinary = void (*)(const double* x, int64_t x_step, const double* y, int64_t y_step, double* out, int64_t n);

// Null: not an element-wise op of two operands.
DoubleBinary find_double_binary(uint32_t op);

}  // namespace backplane::cpu
