// Transpose: axis d of y is axis perm[d] of x. ONNX Transpose 13.
// Types: any but the block types. Attributes: perm[r] (builder: reversed when not given; negative counts from the end).
#include "graph/ops/support/checks.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::transpose {

namespace {

constexpr InputRule kInputs[] = {{"x"}};
constexpr AttributeRule kAttributes[] = {derived(Attr::perm)};

void complete(const InferCall& call, std::vector<Attribute>& attributes) {
    std::vector<int64_t> perm;
    if (call.attributes().find(Attr::perm) != nullptr) {
        for (const int64_t axis : call.integers(Attr::perm)) perm.push_back(counted_from_start(axis, call.rank(0)));
    } else {
        for (size_t d = call.rank(0); d-- > 0;) perm.push_back(static_cast<int64_t>(d));
    }
    set(attributes, {Attr::perm, std::move(perm)});
}

InferResult infer(const InferCall& call) {
    require_plain(call, 0);
    require_length(call, Attr::perm, call.rank(0));
    const std::vector<int64_t>& perm = call.integers(Attr::perm);
    std::vector<bool> seen(perm.size());
    Shape out;
    for (const int64_t axis : perm) {
        require_axis(call, axis);
        const auto at = static_cast<size_t>(axis);
        require(call, !seen[at], "attribute perm " + to_string(perm) + " names axis " + std::to_string(axis) + " twice");
        seen[at] = true;
        out.push_back(call.shape(0)[at]);
    }
    return {call.dtype(0), std::move(out)};
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const std::vector<int64_t> own = strides_of(x.shape);
    std::vector<int64_t> strides;
    for (const int64_t axis : call.attributes.integers(Attr::perm)) strides.push_back(own[static_cast<size_t>(axis)]);
    for_each_index(call.output.shape,
                   [&](const Index& index, size_t i) { call.output.data[i] = x.data[offset_of(index, strides)]; });
}

}  // namespace

constinit const OpDefinition op_transpose{
    Op::transpose, "Transpose", "axes in another order", kInputs, kAttributes, complete, infer, reference};

}  // namespace backplane::graph::ops::transpose
