// Split: parts of a tensor along one axis, one output for each of `sizes`. ONNX Split 18 with the sizes as an attribute. Types: any but the
// block types. Attributes: axis (0; builder: negative counts from the end), sizes (their sum is the extent of the axis).
#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::split {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const auto axis = static_cast<size_t>(call.attributes.integer(Attr::axis));
    const std::vector<int64_t> strides = strides_of(x.shape);
    size_t first = 0;
    for (ReferenceTensor& part : call.outputs) {
        for_each_index(part.shape,
                       [&](const Index& index, size_t i) { part.data[i] = x.data[first + offset_of(index, strides)]; });
        first += static_cast<size_t>(part.shape[axis] * strides[axis]);
    }
}

}  // namespace

constinit const OpDefinition op_split{backplane::ops::op_split, reference};

}  // namespace backplane::graph::ops::split
