// Concat: one or more x, alike but along `axis`, one after the other. ONNX Concat 13.
// Types: any but the block types, all alike. Attributes: axis (builder: negative counts from the end).
#include "graph/ops/support/checks.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph::ops::concat {

namespace {

constexpr InputRule kInputs[] = {{"x"}};
constexpr AttributeRule kAttributes[] = {required(Attr::axis)};

InferResult infer(const InferCall& call) {
    require_plain(call, 0);
    const int64_t axis = call.integer(Attr::axis);
    require_axis(call, axis);
    const auto at = static_cast<size_t>(axis);
    Shape out = call.shape(0);
    for (size_t i = 1; i < call.inputs(); ++i) {
        require_same_dtype(call, 0, i);
        Shape other = call.shape(i);
        const bool same_rank = other.size() == out.size();
        const int64_t extent = same_rank ? other[at] : 0;
        if (same_rank) other[at] = out[at];
        require(call, same_rank && other == out,
                "input " + std::to_string(i) + " " + to_string(call.shape(i)) + " differs from input 0 " +
                    to_string(call.shape(0)) + " in more than axis " + std::to_string(axis));
        out[at] = checked_add(call, out[at], extent);
    }
    return {call.dtype(0), std::move(out)};
}

void reference(const ReferenceCall& call) {
    const auto axis = static_cast<size_t>(call.attributes.integer(Attr::axis));
    const AroundAxis to(call.output.shape, axis);
    int64_t first = 0;
    for (const ReferenceTensor* x : call.inputs) {
        const AroundAxis from(x->shape, axis);
        for (int64_t o = 0; o < from.outer; ++o)
            for (int64_t e = 0; e < from.extent; ++e)
                for (int64_t i = 0; i < from.inner; ++i)
                    call.output.data[to.at(o, first + e, i)] = x->data[from.at(o, e, i)];
        first += from.extent;
    }
}

}  // namespace

constinit const OpDefinition op_concat{Op::concat, "Concat",    "tensors one after the other along an axis",
                                       kInputs,    kAttributes, complete_axis<0>,
                                       infer,      reference,   true};

}  // namespace backplane::graph::ops::concat
