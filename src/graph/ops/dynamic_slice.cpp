// DynamicSlice: Slice whose bounds are operands, in a result whose sizes are known: along axis axes[i] the elements starts[i], starts[i] + steps[i], ...
// before ends[i] (not given: the end of the axis), and zeros behind them; at most sizes[i]. ONNX Slice 13, of which this is all that can be in a graph of
// fixed sizes: negative bounds count from the end, then all are clamped to the axis. Types: any but the block types; bounds i32 or i64. Attributes: sizes[k],
// axes[k] (the first k; ascending), steps[k] (1).
#include <algorithm>

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph::ops::dynamic_slice {

namespace {

int64_t bound_of(const ReferenceTensor& bounds, size_t i, int64_t extent) {
    const int64_t given = to_integer(bounds.data[i]);
    return std::clamp<int64_t>(given < 0 ? given + extent : given, 0, extent);
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const std::vector<int64_t>& axes = call.attributes.integers(Attr::axes);
    const std::vector<int64_t>& steps = call.attributes.integers(Attr::steps);
    const std::vector<int64_t> strides = strides_of(x.shape);
    std::vector<int64_t> first(x.shape.size()), step(x.shape.size(), 1), end = x.shape;
    for (size_t i = 0; i < axes.size(); ++i) {
        const auto axis = static_cast<size_t>(axes[i]);
        first[axis] = bound_of(call.input(1), i, x.shape[axis]);
        if (call.has(2)) end[axis] = bound_of(call.input(2), i, x.shape[axis]);
        step[axis] = steps[i];
    }
    for_each_index(call.output.shape, [&](const Index& index, size_t to) {
        int64_t from = 0;
        for (size_t d = 0; d < index.size(); ++d) {
            // Steps of any size: what is compared is a number of steps.
            const int64_t there = end[d] > first[d] ? (end[d] - first[d] - 1) / step[d] + 1 : 0;
            if (index[d] >= there) return;
            from += (first[d] + index[d] * step[d]) * strides[d];
        }
        call.output.data[to] = x.data[static_cast<size_t>(from)];
    });
}

}  // namespace

constinit const OpDefinition op_dynamic_slice{backplane::ops::op_dynamic_slice, reference};

}  // namespace backplane::graph::ops::dynamic_slice
