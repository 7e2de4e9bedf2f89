// ArgMin: y = position of the smallest x along axis, of equal ones the first, or the last where select_last_index says so. ONNX ArgMin 13, which leaves NaN
// open: here it comes before all numbers, as in numpy. Types: f32, f16, bf16, f64, i32, i64; y is i64. Attributes: axis (0; builder: negative counts from
// the end), keepdims (1: the axis stays as 1), select_last_index (0).
#include "graph/ops/support/order.hpp"

namespace backplane::graph::ops::arg_min {

constinit const OpDefinition op_arg_min{backplane::ops::op_arg_min, reference_arg<false>};

}  // namespace backplane::graph::ops::arg_min
