// TopK: the k largest or smallest of x along axis in order, equal ones by position, and their positions. ONNX TopK 24, with k as an attribute. It
// leaves NaN open: here it comes before all numbers. Types: f32, f16, bf16, f64, i32, i64; the indices are i64. Attributes: k, axis (-1; builder: negative
// counts from the end), largest (1), sorted (1; what is not asked to be sorted is so all the same).
#include "graph/ops/support/order.hpp"

namespace backplane::graph::ops::top_k {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    for_first(x, static_cast<size_t>(call.attributes.integer(Attr::axis)), call.attributes.integer(Attr::k),
              {call.attributes.integer(Attr::largest) != 0, false}, [&](size_t to, size_t from, int64_t position) {
                  call.outputs[0].data[to] = x.data[from];
                  call.outputs[1].data[to] = static_cast<double>(position);
              });
}

}  // namespace

constinit const OpDefinition op_top_k{backplane::ops::op_top_k, reference};

}  // namespace backplane::graph::ops::top_k
