// Reshape: the same elements in row-major order under another shape. ONNX Reshape 13 with the final numbers as an
// attribute; an extent of 0 is 0. Types: any but the block types. Attributes: shape (builder: one -1 is what the number
// of elements leaves).
#include <algorithm>

#include "graph/ops/support/checks.hpp"

namespace backplane::graph::ops::reshape {

namespace {

constexpr InputRule kInputs[] = {{"x"}};
constexpr AttributeRule kAttributes[] = {required(Attr::shape)};

void complete(const InferCall& call, std::vector<Attribute>& attributes) {
    Shape shape = call.integers(Attr::shape);
    const auto open = std::find(shape.begin(), shape.end(), -1);
    if (open == shape.end()) return;
    *open = 1;
    for (const int64_t extent : shape)
        require(call, extent > 0,
                "attribute shape " + to_string(call.integers(Attr::shape)) + " leaves the -1 open for " + call.text(0));
    const int64_t rest = elements(shape);
    require(call, elements(call.shape(0)) % rest == 0,
            call.text(0) + " does not divide into " + to_string(call.integers(Attr::shape)));
    *open = elements(call.shape(0)) / rest;
    set(attributes, {Attr::shape, std::move(shape)});
}

InferResult infer(const InferCall& call) {
    require_plain(call, 0);
    const Shape& shape = call.integers(Attr::shape);
    require_at_least(call, Attr::shape, 0);
    const int64_t n = elements(call.shape(0));
    require(call, elements(shape) == n,
            call.text(0) + " has " + std::to_string(n) + " elements, " + to_string(shape) + " has " +
                std::to_string(elements(shape)));
    return {call.dtype(0), shape};
}

void reference(const ReferenceCall& call) { call.output.data = call.input(0).data; }

}  // namespace

constinit const OpDefinition op_reshape{
    Op::reshape, "Reshape", "the same elements under another shape", kInputs, kAttributes, complete, infer, reference};

}  // namespace backplane::graph::ops::reshape
