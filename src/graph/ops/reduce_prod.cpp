// ReduceProd: y = product along axes, of integers modulo 2^32, 2^64; of nothing 1. ONNX ReduceProd 18, axes as an attribute.
// Types: f32, f16, bf16, f64, i32, i64. Attributes: axes (ascending; empty: all), keepdims (1: reduced axes stay as 1).
#include "graph/ops/support/reduce.hpp"

namespace backplane::graph::ops::reduce_prod {

namespace {

double next(double product, double x) { return product * x; }
uint64_t next_integer(uint64_t product, uint64_t x) { return product * x; }

constexpr Reduction kReduction{1.0, next, nullptr, next_integer};

}  // namespace

constinit const OpDefinition op_reduce_prod{backplane::ops::op_reduce_prod, reference_reduce<kReduction>};

}  // namespace backplane::graph::ops::reduce_prod
