// Where: z = x where condition holds, else y. ONNX Where 16.
// Shapes broadcast as numpy's. Types: condition bool, x and y equal, any but the block types. No attributes.
#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::where {

namespace {

void reference(const ReferenceCall& call) {
    std::vector<int64_t> strides[3];
    for (size_t k = 0; k < 3; ++k) strides[k] = broadcast_strides(call.input(k).shape, call.output.shape);
    for_each_index(call.output.shape, [&](const Index& index, size_t i) {
        const size_t k = call.input(0).data[offset_of(index, strides[0])] != 0 ? 1 : 2;
        call.output.data[i] = call.input(k).data[offset_of(index, strides[k])];
    });
}

}  // namespace

constinit const OpDefinition op_where{backplane::ops::op_where, reference};

}  // namespace backplane::graph::ops::where
