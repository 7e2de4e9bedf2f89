// OneHot: y[a..., d, b...] = values[1] where indices[a..., b...] is d, or d - depth, else values[0]. ONNX OneHot 11, the depth as an attribute.
// An index out of range is nowhere on. Types: indices i32 or i64, values any but the block types. Attributes: depth, axis (of the result; builder:
// the last when not given, negative counts from the end).
#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph::ops::one_hot {

namespace {

void reference(const ReferenceCall& call) {
    const AroundAxis to(call.output.shape, static_cast<size_t>(call.attributes.integer(Attr::axis)));
    const std::vector<double>& values = call.input(1).data;
    for (int64_t o = 0; o < to.outer; ++o)
        for (int64_t i = 0; i < to.inner; ++i) {
            const int64_t k = to_integer(call.input(0).data[static_cast<size_t>(o * to.inner + i)]);
            for (int64_t d = 0; d < to.extent; ++d)
                call.output.data[to.at(o, d, i)] = values[k == d || k == d - to.extent ? 1 : 0];
        }
}

}  // namespace

constinit const OpDefinition op_one_hot{backplane::ops::op_one_hot, reference};

}  // namespace backplane::graph::ops::one_hot
