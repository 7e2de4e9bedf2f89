// Pad: pads[d] elements before axis d and pads[r + d] after it. mode constant: `value`; edge: the nearest element of x;
// reflect: x mirrored about its first and last element, which are not repeated. ONNX Pad 13; negative pads are a Slice
// here. Types: any but the block types. Attributes: pads[2r], mode (BP_PAD_CONSTANT), value (0, stored as x's type).
#include <algorithm>

#include "graph/ops/support/checks.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::pad {

namespace {

constexpr InputRule kInputs[] = {{"x"}};
constexpr AttributeRule kAttributes[] = {required(Attr::pads), integer(Attr::mode, BP_PAD_CONSTANT),
                                         number(Attr::value, 0.0)};

InferResult infer(const InferCall& call) {
    require_plain(call, 0);
    const size_t rank = call.rank(0);
    require_length(call, Attr::pads, 2 * rank);
    require_at_least(call, Attr::pads, 0);
    const int64_t mode = call.integer(Attr::mode);
    require(call, mode >= BP_PAD_CONSTANT && mode <= BP_PAD_REFLECT,
            "attribute mode is 0 (constant), 1 (edge) or 2 (reflect)");
    Shape out;
    for (size_t d = 0; d < rank; ++d) {
        const int64_t extent = call.shape(0)[d];
        const int64_t before = call.integers(Attr::pads)[d];
        const int64_t after = call.integers(Attr::pads)[rank + d];
        const int64_t most = std::max(before, after);
        const std::string axis = "axis " + std::to_string(d) + " of " + call.text(0);
        require(call, mode != BP_PAD_EDGE || most == 0 || extent > 0, axis + " is empty and has no edge to repeat");
        require(call, mode != BP_PAD_REFLECT || most == 0 || most < extent,
                axis + " is too short to reflect " + std::to_string(most) + " elements");
        out.push_back(checked_add(call, extent, before + after));
    }
    return {call.dtype(0), std::move(out)};
}

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

constinit const OpDefinition op_pad{Op::pad, "Pad",    "elements added around a tensor", kInputs, kAttributes, nullptr,
                                    infer,   reference};

}  // namespace backplane::graph::ops::pad
