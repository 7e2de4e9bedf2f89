// Concat: one or more x, alike but along `axis`, one after the other. ONNX Concat 13.
// Types: any but the block types, all alike. Attributes: axis (builder: negative counts from the end).
#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::concat {

namespace {

void reference(const ReferenceCall& call) {
    const auto axis = static_cast<size_t>(call.attributes.integer(Attr::axis));
    const AroundAxis to(call.output.shape, axis);
    int64_t first = 0;
    for (const ReferenceTensor* x : call.inputs) {
        const AroundAxis from(x->shape, axis);
        for (int64_t o = 0; o < from.outer; ++o)
            for (int64_t e = 0; e < from.extent; ++e)
                for (int64_t i = 0; i < from.inner; ++i)
                    call.output.data[to.at(o, first + e, i)] = x->data[from.at(o, e, i)];
        first += from.extent;
    }
}

}  // namespace

constinit const OpDefinition op_concat{backplane::ops::op_concat, reference};

}  // namespace backplane::graph::ops::concat
