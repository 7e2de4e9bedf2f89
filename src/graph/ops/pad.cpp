// Pad: pads[d] elements before axis d and pads[r + d] after it. mode constant: `value`; edge: the nearest element of x;
// reflect: x mirrored about its first and last element, which are not repeated. ONNX Pad 13; negative pads are a Slice
// here. Types: any but the block types. Attributes: pads[2r], mode (BP_PAD_CONSTANT), value (0, stored as x's type).
#include <algorithm>

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::pad {

namespace {

// The position in x of position i - pad of an axis; -1: none.
int64_t source(int64_t i, int64_t extent, int64_t mode) {
    if (i >= 0 && i < extent) return i;
    if (mode == BP_PAD_CONSTANT) return -1;
    if (mode == BP_PAD_EDGE) return i < 0 ? 0 : extent - 1;
    return i < 0 ? -i : 2 * (extent - 1) - i;
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const std::vector<int64_t>& pads = call.attributes.integers(Attr::pads);
    const int64_t mode = call.attributes.integer(Attr::mode);
    const std::vector<int64_t> strides = strides_of(x.shape);
    Index from(x.shape.size());
    for_each_index(call.output.shape, [&](const Index& index, size_t i) {
        bool inside = true;
        for (size_t d = 0; d < from.size(); ++d) {
            from[d] = source(index[d] - pads[d], x.shape[d], mode);
            inside = inside && from[d] >= 0;
        }
        call.output.data[i] = inside ? x.data[offset_of(from, strides)] : call.attributes.number(Attr::value);
    });
}

}  // namespace

constinit const OpDefinition op_pad{backplane::ops::op_pad, reference};

}  // namespace backplane::graph::ops::pad
