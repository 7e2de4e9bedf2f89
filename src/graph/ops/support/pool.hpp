// References of pooling.
#pragma once

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"

namespace backplane::graph {

// What is done with the elements of a window: where it starts, how it takes the next, how it ends with so many counted.
struct Pooling {
    double start;
    double (*next)(double sum, double x);
    double (*end)(double sum, double count);
};

template <const Pooling& pooling>
void reference_pool(const ReferenceCall& call, bool counts_pads) {
    const ReferenceTensor& x = call.input(0);
    const std::vector<int64_t>& kernel = call.attributes.integers(Attr::kernel_shape);
    const std::vector<int64_t>& steps = call.attributes.integers(Attr::strides);
    const std::vector<int64_t>& pads = call.attributes.integers(Attr::pads);
    const std::vector<int64_t>& dilations = call.attributes.integers(Attr::dilations);
    const std::vector<int64_t> strides = strides_of(x.shape);
    const size_t axes = kernel.size();
    for_each_index(call.output.shape, [&](const Index& at, size_t to) {
        double sum = pooling.start;
        double count = 0;
        for_each_index(kernel, [&](const Index& tap, size_t) {
            Index from = at;
            bool inside = true;
            bool counted = true;
            for (size_t d = 0; d < axes; ++d) {
                const int64_t extent = x.shape[2 + d];
                const int64_t k = at[2 + d] * steps[d] + tap[d] * dilations[d] - pads[d];
                from[2 + d] = k;
                inside = inside && k >= 0 && k < extent;
                // A window of ceil_mode may reach behind the padding: nothing is there.
                counted = counted && k < extent + pads[axes + d];
            }
            if (inside) sum = pooling.next(sum, x.data[offset_of(from, strides)]);
            if (counts_pads ? counted : inside) count += 1;
        });
        call.output.data[to] = pooling.end(sum, count);
    });
}

}  // namespace backplane::graph
