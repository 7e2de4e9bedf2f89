// Gather: y[a..., i..., b...] = x[a..., indices[i...], b...], the axis of x replaced by the axes of indices. ONNX Gather 13.
// A negative index counts from the end; one out of range is an error when the op runs.
// Types: x any but the block types, indices i32 or i64. Attributes: axis (0; builder: negative counts from the end).
#include "graph/ops/support/checks.hpp"
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph::ops::gather {

namespace {

constexpr InputRule kInputs[] = {{"x"}, {"indices"}};
constexpr AttributeRule kAttributes[] = {integer(Attr::axis, 0)};

InferResult infer(const InferCall& call) {
    require_plain(call, 0);
    require(call, is_integer(call.dtype(1)), call.typed_text(1) + " must be i32 or i64");
    const int64_t axis = call.integer(Attr::axis);
    require_axis(call, axis);
    const Shape& x = call.shape(0);
    const Shape& indices = call.shape(1);
    Shape out(x.begin(), x.begin() + axis);
    out.insert(out.end(), indices.begin(), indices.end());
    out.insert(out.end(), x.begin() + axis + 1, x.end());
    require(call, elements(out) == 0 || x[static_cast<size_t>(axis)] > 0,
            "there is nothing to pick along axis " + std::to_string(axis) + " of " + call.text(0));
    return {call.dtype(0), std::move(out)};
}

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const ReferenceTensor& indices = call.input(1);
    const AroundAxis from(x.shape, static_cast<size_t>(call.attributes.integer(Attr::axis)));
    const auto count = static_cast<int64_t>(indices.data.size());
    for (int64_t o = 0; o < from.outer; ++o)
        for (int64_t k = 0; k < count; ++k) {
            const int64_t index = to_integer(indices.data[static_cast<size_t>(k)]);
            if (index < -from.extent || index >= from.extent)
                throw Error(Code::invalid, "Gather: index " + std::to_string(index) + " lies outside the " +
                                               std::to_string(from.extent) + " elements of its axis, x " +
                                               to_string(x.shape));
            for (int64_t i = 0; i < from.inner; ++i)
                call.output.data[static_cast<size_t>((o * count + k) * from.inner + i)] =
                    x.data[from.at(o, index < 0 ? index + from.extent : index, i)];
        }
}

}  // namespace

constinit const OpDefinition op_gather{Op::gather, "Gather",    "slices along an axis, picked by integers",
                                       kInputs,    kAttributes, complete_axis<0>,
                                       infer,      reference};

}  // namespace backplane::graph::ops::gather
