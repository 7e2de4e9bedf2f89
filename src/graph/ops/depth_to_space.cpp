// DepthToSpace: x[N, C, H, W] -> y[N, C / b^2, H * b, W * b], b = blocksize (pixel shuffle).
//   DCR: y[n, c, h * b + i, w * b + j] = x[n, (i * b + j) * (C / b^2) + c, h, w]
//   CRD: y[n, c, h * b + i, w * b + j] = x[n, c * b^2 + i * b + j, h, w]
// ONNX DepthToSpace 13. Types: any but the block types. Attributes: blocksize, mode (BP_DTS_DCR).
#include "graph/ops/support/checks.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::depth_to_space {

namespace {

constexpr InputRule kInputs[] = {{"x"}};
constexpr AttributeRule kAttributes[] = {required(Attr::blocksize), integer(Attr::mode, BP_DTS_DCR)};

InferResult infer(const InferCall& call) {
    require_plain(call, 0);
    require_rank(call, 0, 4);
    const int64_t block = call.integer(Attr::blocksize);
    require(call, block >= 1, "attribute blocksize must be 1 or more");
    const int64_t mode = call.integer(Attr::mode);
    require(call, mode == BP_DTS_DCR || mode == BP_DTS_CRD, "attribute mode is 0 (DCR) or 1 (CRD)");
    const Shape& x = call.shape(0);
    const int64_t cells = checked_mul(call, block, block);
    require(call, x[1] % cells == 0,
            call.text(0) + " has " + std::to_string(x[1]) + " channels, no multiple of blocksize " + std::to_string(block) +
                " squared");
    return {call.dtype(0), {x[0], x[1] / cells, checked_mul(call, x[2], block), checked_mul(call, x[3], block)}};
}

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

constinit const OpDefinition op_depth_to_space{
    Op::depth_to_space, "DepthToSpace", "channels to blocks of pixels", kInputs, kAttributes, nullptr, infer, reference};

}  // namespace backplane::graph::ops::depth_to_space
