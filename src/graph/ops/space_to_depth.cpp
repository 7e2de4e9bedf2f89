// SpaceToDepth: x[N, C, H, W] -> y[N, C * b^2, H / b, W / b], b = blocksize: y[n, (i * b + j) * C + c, h, w] = x[n, c, h * b + i, w * b + j].
// ONNX SpaceToDepth 13. Types: any but the block types. Attributes: blocksize.
#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::space_to_depth {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const int64_t block = call.attributes.integer(Attr::blocksize);
    const int64_t channels = x.shape[1];
    const std::vector<int64_t> strides = strides_of(x.shape);
    for_each_index(call.output.shape, [&](const Index& y, size_t i) {
        const int64_t cell = y[1] / channels;
        call.output.data[i] =
            x.data[offset_of({y[0], y[1] % channels, y[2] * block + cell / block, y[3] * block + cell % block}, strides)];
    });
}

}  // namespace

constinit const OpDefinition op_space_to_depth{backplane::ops::op_space_to_depth, reference};

}  // namespace backplane::graph::ops::space_to_depth
