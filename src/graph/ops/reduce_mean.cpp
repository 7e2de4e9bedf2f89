// ReduceMean: y = mean along axes; of nothing NaN; of integers truncated. ONNX ReduceMean 13.
// Types: f32, f16, bf16, f64, i32, i64. Attributes: axes (ascending; empty: all), keepdims (1: reduced axes stay as 1).
#include <cmath>

#include "graph/ops/support/reduce.hpp"

namespace backplane::graph::ops::reduce_mean {

namespace {

double next(double sum, double x) { return sum + x; }
double end(double sum, double count, DType dtype) { return is_integer(dtype) ? std::trunc(sum / count) : sum / count; }

constexpr Reduction kReduction{0.0, next, end};

}  // namespace

constinit const OpDefinition op_reduce_mean{backplane::ops::op_reduce_mean, reference_reduce<kReduction>};

}  // namespace backplane::graph::ops::reduce_mean
