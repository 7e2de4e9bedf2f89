// Reductions over any axes. Attributes: axes (builder: any order, negative counts from the end; empty: all), keepdims.
#pragma once

#include <algorithm>

#include "graph/ops/support/checks.hpp"
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph {

inline constexpr InputRule kReduceInputs[] = {{"x"}};
inline constexpr AttributeRule kReduceAttributes[] = {integers(Attr::axes, 0, 0), integer(Attr::keepdims, 1)};

// What a reduction is: where it starts, how it takes the next value, how it ends.
struct Reduction {
    double start;
    double (*next)(double sum, double x);
    double (*end)(double sum, double count, DType dtype);
    bool needs_elements;  // of nothing there is no result
};

inline void complete_axes(const InferCall& call, std::vector<Attribute>& attributes) {
    std::vector<int64_t> axes = call.integers(Attr::axes);
    for (int64_t& axis : axes) axis = counted_from_start(axis, call.rank(0));
    std::sort(axes.begin(), axes.end());
    set(attributes, {Attr::axes, std::move(axes)});
}

inline std::vector<bool> reduced_axes(const std::vector<int64_t>& axes, size_t rank) {
    std::vector<bool> reduced(rank, axes.empty());
    for (const int64_t axis : axes) reduced[static_cast<size_t>(axis)] = true;
    return reduced;
}

template <const Reduction& reduction>
InferResult infer_reduce(const InferCall& call) {
    require_types(call, 0, Types::numbers);
    const std::vector<int64_t>& axes = call.integers(Attr::axes);
    for (const int64_t axis : axes) require_axis(call, axis);
    require(call, std::adjacent_find(axes.begin(), axes.end()) == axes.end(), "an axis is given twice: " + to_string(axes));
    const int64_t keepdims = call.integer(Attr::keepdims);
    require(call, keepdims == 0 || keepdims == 1, "attribute keepdims is 0 or 1");
    const std::vector<bool> reduced = reduced_axes(axes, call.rank(0));
    Shape out;
    bool nothing = false;
    for (size_t d = 0; d < reduced.size(); ++d) {
        if (reduced[d] && call.shape(0)[d] == 0) nothing = true;
        if (!reduced[d]) out.push_back(call.shape(0)[d]);
        if (reduced[d] && keepdims == 1) out.push_back(1);
    }
    const bool impossible = nothing && elements(out) != 0 &&
                            (reduction.needs_elements || (is_integer(call.dtype(0)) && reduction.end != nullptr));
    require(call, !impossible,
            "an empty axis has no result, " + call.text(0) + " along " + (axes.empty() ? "all axes" : to_string(axes)));
    return {call.dtype(0), std::move(out)};
}

template <const Reduction& reduction>
void reference_reduce(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const std::vector<bool> reduced = reduced_axes(call.attributes.integers(Attr::axes), x.shape.size());
    // The output with its reduced axes kept, so that both sides are walked by one index.
    Shape kept = x.shape;
    double count = 1;
    for (size_t d = 0; d < kept.size(); ++d) {
        if (!reduced[d]) continue;
        count *= static_cast<double>(kept[d]);
        kept[d] = 1;
    }
    const auto strides = broadcast_strides(kept, x.shape);
    std::vector<double>& out = call.output.data;
    std::fill(out.begin(), out.end(), reduction.start);
    for_each_index(x.shape, [&](const Index& index, size_t i) {
        double& sum = out[offset_of(index, strides)];
        sum = reduction.next(sum, x.data[i]);
    });
    for (double& sum : out) {
        if (reduction.end != nullptr) sum = reduction.end(sum, count, x.dtype);
        if (is_integer(x.dtype)) sum = wrapped(static_cast<uint64_t>(to_integer(sum)), x.dtype);
    }
}

template <const Reduction& reduction>
constexpr OpDefinition reduce(Op op, const char* name, const char* summary) {
    OpDefinition d;
    d.op = op;
    d.name = name;
    d.summary = summary;
    d.inputs = kReduceInputs;
    d.attributes = kReduceAttributes;
    d.complete = complete_axes;
    d.infer = infer_reduce<reduction>;
    d.reference = reference_reduce<reduction>;
    return d;
}

}  // namespace backplane::graph
