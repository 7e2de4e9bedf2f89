// Tile: y[i...] = x[i % extent...]. ONNX Tile 13, the repeats as an attribute.
// Types: any but the block types. Attributes: repeats (of each axis).
#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::tile {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const std::vector<int64_t> strides = strides_of(x.shape);
    for_each_index(call.output.shape, [&](const Index& index, size_t i) {
        size_t at = 0;
        for (size_t d = 0; d < index.size(); ++d) at += static_cast<size_t>(index[d] % x.shape[d] * strides[d]);
        call.output.data[i] = x.data[at];
    });
}

}  // namespace

constinit const OpDefinition op_tile{backplane::ops::op_tile, reference};

}  // namespace backplane::graph::ops::tile
