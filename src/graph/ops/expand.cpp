// Expand: y = x repeated along axes of extent 1 and along new ones before all. ONNX Expand 13, the shape as an attribute.
// Types: any but the block types. Attributes: shape (builder: may have fewer axes than x, and 1 where x is longer).
#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::expand {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const std::vector<int64_t> strides = broadcast_strides(x.shape, call.output.shape);
    for_each_index(call.output.shape,
                   [&](const Index& index, size_t i) { call.output.data[i] = x.data[offset_of(index, strides)]; });
}

}  // namespace

constinit const OpDefinition op_expand{backplane::ops::op_expand, reference};

}  // namespace backplane::graph::ops::expand
