// Transpose: axis d of y is axis perm[d] of x. ONNX Transpose 13.
// Types: any but the block types. Attributes: perm[r] (builder: reversed when not given; negative counts from the end).
#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::transpose {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const std::vector<int64_t> own = strides_of(x.shape);
    std::vector<int64_t> strides;
    for (const int64_t axis : call.attributes.integers(Attr::perm)) strides.push_back(own[static_cast<size_t>(axis)]);
    for_each_index(call.output.shape,
                   [&](const Index& index, size_t i) { call.output.data[i] = x.data[offset_of(index, strides)]; });
}

}  // namespace

constinit const OpDefinition op_transpose{backplane::ops::op_transpose, reference};

}  // namespace backplane::graph::ops::transpose
