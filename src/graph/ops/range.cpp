// Range: y[i] = start + i * delta, of integers modulo 2^32, 2^64. ONNX Range 11, with the number of elements as an attribute in place of the limit:
// shapes are known. Types, equal on both sides: f32, f16, bf16, f64, i32, i64. Attributes: count.
#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph::ops::range {

namespace {

void reference(const ReferenceCall& call) {
    const double start = call.input(0).data[0];
    const double delta = call.input(1).data[0];
    const DType dtype = call.output.dtype;
    for (size_t i = 0; i < call.output.data.size(); ++i) {
        call.output.data[i] = start + static_cast<double>(i) * delta;
        if (is_integer(dtype))
            call.output.data[i] =
                wrapped(static_cast<uint64_t>(to_integer(start)) + i * static_cast<uint64_t>(to_integer(delta)), dtype);
    }
}

}  // namespace

constinit const OpDefinition op_range{backplane::ops::op_range, reference};

}  // namespace backplane::graph::ops::range
