// References of reductions over any axes.
#pragma once

#include <algorithm>

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph {

// What a reduction is: where it starts, how it takes the next value, how it ends.
struct Reduction {
    double start;
    double (*next)(double sum, double x);
    double (*end)(double sum, double count, DType dtype);
};

inline std::vector<bool> reduced_axes(const std::vector<int64_t>& axes, size_t rank) {
    std::vector<bool> reduced(rank, axes.empty());
    for (const int64_t axis : axes) reduced[static_cast<size_t>(axis)] = true;
    return reduced;
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

}  // namespace backplane::graph
