// LSTM: long short-term memory over a sequence. ONNX LSTM 22:
//   i = f(x Wi' + h Ri' + Pi c + Wbi + Rbi), with o and the forget gate f alike, but that o sees the new cell;  c' = f c + i g(x Wc' + h Rc' + Wbc + Rbc);
//   h' = o h(c'). The state of a row stands where its length ends, y is 0 behind it; a row of no steps keeps its state. Reverse: from the last
// step of a row to its first. Clip cuts what every activation gets, h(c') included, and not the cell itself. Lengths are taken as 0 to T.
// Types: f32, f16, bf16, f64; w and r may be f16 or bf16 beside f32. Attributes: direction (BP_DIRECTION_*), activations (f, g, h of each
// direction; Sigmoid, Tanh or Relu), clip (0: none), hidden_size (0: as in r), input_forget, layout.
#include "graph/ops/support/recurrent.hpp"

namespace backplane::graph::ops::lstm {

constinit const OpDefinition op_lstm{backplane::ops::op_lstm, reference_recurrence<Op::lstm>};

}  // namespace backplane::graph::ops::lstm
