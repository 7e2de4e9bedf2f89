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
    uint64_t (*next_integer)(uint64_t sum, uint64_t x) = nullptr;  // modulo 2^64; null: as numbers
};

inline std::vector<bool> reduced_axes(const std::vector<int64_t>& axes, size_t rank) {
    std::vector<bool> reduced(rank, axes.empty());
    for (const int64_t axis : axes) reduced[static_cast<size_t>(axis)] = true;
    return reduced;
}

// Of the result with its reduced axes kept, so that both sides are walked by one index.
inline std::vector<int64_t> strides_of_result(const ReferenceCall& call) {
    Shape kept = call.input(0).shape;
    const std::vector<bool> reduced = reduced_axes(call.attributes.integers(Attr::axes), kept.size());
    for (size_t d = 0; d < kept.size(); ++d)
        if (reduced[d]) kept[d] = 1;
    return broadcast_strides(kept, call.input(0).shape);
}

// `strides`: of the output where x has its elements. Exact: a double does not hold a product.
inline void reduce_integers(const ReferenceCall& call, const Reduction& reduction, const std::vector<int64_t>& strides) {
    const ReferenceTensor& x = call.input(0);
    std::vector<uint64_t> sums(call.output.data.size(), static_cast<uint64_t>(to_integer(reduction.start)));
    for_each_index(x.shape, [&](const Index& index, size_t i) {
        uint64_t& sum = sums[offset_of(index, strides)];
        sum = reduction.next_integer(sum, static_cast<uint64_t>(to_integer(x.data[i])));
    });
    for (size_t i = 0; i < sums.size(); ++i) call.output.data[i] = wrapped(sums[i], x.dtype);
}

template <const Reduction& reduction>
void reference_reduce(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const std::vector<bool> reduced = reduced_axes(call.attributes.integers(Attr::axes), x.shape.size());
    double count = 1;
    for (size_t d = 0; d < reduced.size(); ++d)
        if (reduced[d]) count *= static_cast<double>(x.shape[d]);
    const std::vector<int64_t> strides = strides_of_result(call);
    if (reduction.next_integer != nullptr && is_integer(x.dtype)) return reduce_integers(call, reduction, strides);
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
