// DepthToSpace: x[N, C, H, W] -> y[N, C / b^2, H * b, W * b], b = blocksize (pixel shuffle).
//   DCR: y[n, c, h * b + i, w * b + j] = x[n, (i * b + j) * (C / b^2) + c, h, w]
//   CRD: y[n, c, h * b + i, w * b + j] = x[n, c * b^2 + i * b + j, h, w]
// ONNX DepthToSpace 13. Types: any but the block types. Attributes: blocksize, mode (BP_DTS_DCR).
#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::depth_to_space {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const int64_t block = call.attributes.integer(Attr::blocksize);
    const bool crd = call.attributes.integer(Attr::mode) == BP_DTS_CRD;
    const int64_t channels = call.output.shape[1];
    const std::vector<int64_t> strides = strides_of(x.shape);
    for_each_index(call.output.shape, [&](const Index& y, size_t i) {
        const int64_t cell = y[2] % block * block + y[3] % block;
        const int64_t channel = crd ? y[1] * block * block + cell : cell * channels + y[1];
        call.output.data[i] = x.data[offset_of({y[0], channel, y[2] / block, y[3] / block}, strides)];
    });
}

}  // namespace

constinit const OpDefinition op_depth_to_space{backplane::ops::op_depth_to_space, reference};

}  // namespace backplane::graph::ops::depth_to_space
