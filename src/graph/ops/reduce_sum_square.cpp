// ReduceSumSquare: y = sum of x^2 along axes, of integers modulo 2^32, 2^64; of nothing 0. ONNX ReduceSumSquare 18, axes as an attribute.
// Types: f32, f16, bf16, f64, i32, i64. Attributes: axes (ascending; empty: all), keepdims (1: reduced axes stay as 1).
#include "graph/ops/support/reduce.hpp"

namespace backplane::graph::ops::reduce_sum_square {

namespace {

double next(double sum, double x) { return sum + x * x; }
uint64_t next_integer(uint64_t sum, uint64_t x) { return sum + x * x; }

constexpr Reduction kReduction{0.0, next, nullptr, next_integer};

}  // namespace

constinit const OpDefinition op_reduce_sum_square{backplane::ops::op_reduce_sum_square, reference_reduce<kReduction>};

}  // namespace backplane::graph::ops::reduce_sum_square
