// ReduceSum: y = sum along axes; of nothing 0. ONNX ReduceSum 13, axes as an attribute.
// Types: f32, f16, bf16, f64, i32, i64. Attributes: axes (ascending; empty: all), keepdims (1: reduced axes stay as 1).
#include "graph/ops/support/reduce.hpp"

namespace backplane::graph::ops::reduce_sum {

namespace {

double next(double sum, double x) { return sum + x; }

constexpr Reduction kReduction{0.0, next, nullptr};

}  // namespace

constinit const OpDefinition op_reduce_sum{backplane::ops::op_reduce_sum, reference_reduce<kReduction>};

}  // namespace backplane::graph::ops::reduce_sum
