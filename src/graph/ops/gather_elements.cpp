// GatherElements: y[a..., i, b...] = x[a..., indices[a..., i, b...], b...] along axis. ONNX GatherElements 13.
// A negative index counts from the end; one out of range is an error when the op runs.
// Types: x any but the block types, indices i32 or i64. Attributes: axis (0; builder: negative counts from the end).
#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph::ops::gather_elements {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const ReferenceTensor& indices = call.input(1);
    const auto axis = static_cast<size_t>(call.attributes.integer(Attr::axis));
    const std::vector<int64_t> strides = strides_of(x.shape);
    for_each_index(indices.shape, [&](const Index& index, size_t i) {
        Index from = index;
        from[axis] = position_of("GatherElements", to_integer(indices.data[i]), x.shape, axis);
        call.output.data[i] = x.data[offset_of(from, strides)];
    });
}

}  // namespace

constinit const OpDefinition op_gather_elements{backplane::ops::op_gather_elements, reference};

}  // namespace backplane::graph::ops::gather_elements
