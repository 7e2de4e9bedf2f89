// ReduceMin: y = smallest along axes; NaN anywhere gives NaN. ONNX ReduceMin 13. An empty axis is an error.
// Types: f32, f16, bf16, f64, i32, i64. Attributes: axes (ascending; empty: all), keepdims (1: reduced axes stay as 1).
#include <cmath>
#include <limits>

#include "graph/ops/support/reduce.hpp"

namespace backplane::graph::ops::reduce_min {

namespace {

double next(double sum, double x) { return x < sum || std::isnan(x) ? x : sum; }

constexpr Reduction kReduction{std::numeric_limits<double>::infinity(), next, nullptr};

}  // namespace

constinit const OpDefinition op_reduce_min{backplane::ops::op_reduce_min, reference_reduce<kReduction>};

}  // namespace backplane::graph::ops::reduce_min
