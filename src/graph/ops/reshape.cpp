// Reshape: the same elements in row-major order under another shape. ONNX Reshape 13 with the final numbers as an
// attribute; an extent of 0 is 0. Types: any but the block types. Attributes: shape (builder: one -1 is what the number
// of elements leaves).
#include <algorithm>

#include "graph/op_definition.hpp"

namespace backplane::graph::ops::reshape {

namespace {

void reference(const ReferenceCall& call) { call.output.data = call.input(0).data; }

}  // namespace

constinit const OpDefinition op_reshape{backplane::ops::op_reshape, reference};

}  // namespace backplane::graph::ops::reshape
