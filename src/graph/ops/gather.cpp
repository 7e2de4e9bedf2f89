// Gather: y[a..., i..., b...] = x[a..., indices[i...], b...], the axis of x replaced by the axes of indices. ONNX Gather 13.
// A negative index counts from the end; one out of range is an error when the op runs.
// Types: x any, of which the block types are decoded to f32 (not along the last axis); indices i32 or i64.
// Attributes: axis (0; builder: negative counts from the end).
#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph::ops::gather {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const ReferenceTensor& indices = call.input(1);
    const auto axis = static_cast<size_t>(call.attributes.integer(Attr::axis));
    const AroundAxis from(x.shape, axis);
    const auto count = static_cast<int64_t>(indices.data.size());
    for (int64_t o = 0; o < from.outer; ++o)
        for (int64_t k = 0; k < count; ++k) {
            const int64_t at = position_of("Gather", to_integer(indices.data[static_cast<size_t>(k)]), x.shape, axis);
            for (int64_t i = 0; i < from.inner; ++i)
                call.output.data[static_cast<size_t>((o * count + k) * from.inner + i)] = x.data[from.at(o, at, i)];
        }
}

}  // namespace

constinit const OpDefinition op_gather{backplane::ops::op_gather, reference};

}  // namespace backplane::graph::ops::gather
