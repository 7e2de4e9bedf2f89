// Slice: along each axis d the elements starts[d], starts[d] + steps[d], ... before ends[d]. ONNX Slice 13 with
// attributes for all axes and steps of 1 and more. Types: any but the block types. Attributes: starts[r], ends[r]
// (builder: negative counts from the end, then both are clamped to the axis), steps[r] (1).
#include <algorithm>

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::slice {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    std::vector<int64_t> strides = strides_of(x.shape);
    const std::vector<int64_t>& steps = call.attributes.integers(Attr::steps);
    const size_t first = offset_of(call.attributes.integers(Attr::starts), strides);
    for (size_t d = 0; d < strides.size(); ++d) strides[d] *= steps[d];
    for_each_index(call.output.shape,
                   [&](const Index& index, size_t i) { call.output.data[i] = x.data[first + offset_of(index, strides)]; });
}

}  // namespace

constinit const OpDefinition op_slice{backplane::ops::op_slice, reference};

}  // namespace backplane::graph::ops::slice
