// ReduceL2: y = square root of the sum of x^2 along axes; of nothing 0. ONNX ReduceL2 18, axes as an attribute.
// Types: f32, f16, bf16, f64. Attributes: axes (ascending; empty: all), keepdims (1: reduced axes stay as 1).
#include <cmath>

#include "graph/ops/support/reduce.hpp"

namespace backplane::graph::ops::reduce_l2 {

namespace {

double next(double sum, double x) { return sum + x * x; }
double end(double sum, double /*count*/, DType /*dtype*/) { return std::sqrt(sum); }

constexpr Reduction kReduction{0.0, next, end};

}  // namespace

constinit const OpDefinition op_reduce_l2{backplane::ops::op_reduce_l2, reference_reduce<kReduction>};

}  // namespace backplane::graph::ops::reduce_l2
