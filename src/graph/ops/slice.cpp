// Slice: along each axis d the elements starts[d], starts[d] + steps[d], ... before ends[d]. ONNX Slice 13 with
// attributes for all axes and steps of 1 and more. Types: any but the block types. Attributes: starts[r], ends[r]
// (builder: negative counts from the end, then both are clamped to the axis), steps[r] (1).
#include <algorithm>

#include "graph/ops/support/checks.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::slice {

namespace {

constexpr InputRule kInputs[] = {{"x"}};
constexpr AttributeRule kAttributes[] = {required(Attr::starts), required(Attr::ends), derived(Attr::steps)};

void complete(const InferCall& call, std::vector<Attribute>& attributes) {
    const Shape& x = call.shape(0);
    require_length(call, Attr::starts, x.size());
    require_length(call, Attr::ends, x.size());
    std::vector<int64_t> starts = call.integers(Attr::starts);
    std::vector<int64_t> ends = call.integers(Attr::ends);
    for (size_t d = 0; d < x.size(); ++d) {
        starts[d] = std::clamp<int64_t>(counted_from_start(starts[d], static_cast<size_t>(x[d])), 0, x[d]);
        ends[d] = std::clamp<int64_t>(counted_from_start(ends[d], static_cast<size_t>(x[d])), starts[d], x[d]);
    }
    set(attributes, {Attr::starts, std::move(starts)});
    set(attributes, {Attr::ends, std::move(ends)});
    if (call.attributes().find(Attr::steps) == nullptr) set(attributes, {Attr::steps, std::vector<int64_t>(x.size(), 1)});
}

InferResult infer(const InferCall& call) {
    require_plain(call, 0);
    require_length(call, Attr::steps, call.rank(0));
    require_at_least(call, Attr::steps, 1);
    Shape out;
    for (size_t d = 0; d < call.rank(0); ++d) {
        const int64_t length = call.integers(Attr::ends)[d] - call.integers(Attr::starts)[d];
        const int64_t step = call.integers(Attr::steps)[d];
        out.push_back(length / step + (length % step != 0 ? 1 : 0));
    }
    return {call.dtype(0), std::move(out)};
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    std::vector<int64_t> strides = strides_of(x.shape);
    const std::vector<int64_t>& steps = call.attributes.integers(Attr::steps);
    const size_t first = offset_of(call.attributes.integers(Attr::starts), strides);
    for (size_t d = 0; d < strides.size(); ++d) strides[d] *= steps[d];
    for_each_index(call.output.shape,
                   [&](const Index& index, size_t i) { call.output.data[i] = x.data[first + offset_of(index, strides)]; });
}

}  // namespace

constinit const OpDefinition op_slice{Op::slice, "Slice",     "every n-th element between two bounds, along each axis",
                                      kInputs,   kAttributes, complete,
                                      infer,     reference};

}  // namespace backplane::graph::ops::slice
