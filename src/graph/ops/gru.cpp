// GRU: gated recurrent units over a sequence. ONNX GRU 22:
//   z = f(x Wz' + h Rz' + Wbz + Rbz), r alike;  n = g(x Wh' + (r h) Rh' + Rbh + Wbh), with linear_before_reset g(x Wh' + r (h Rh' + Rbh) + Wbh);
//   h' = (1 - z) n + z h. Lengths, directions and clip as in lstm.cpp.
// Types: f32, f16, bf16, f64; w and r may be f16 or bf16 beside f32. Attributes: direction (BP_DIRECTION_*), activations (f, g of each direction;
// Sigmoid, Tanh or Relu), clip (0: none), hidden_size (0: as in r), layout, linear_before_reset.
#include "graph/ops/support/recurrent.hpp"

namespace backplane::graph::ops::gru {

constinit const OpDefinition op_gru{backplane::ops::op_gru, reference_recurrence<Op::gru>};

}  // namespace backplane::graph::ops::gru
