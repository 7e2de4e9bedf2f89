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

struct NoCount {
    void operator()(bool /*counted*/, bool /*inside*/) const {}
};
// Calls body(window, each) for each window, `window` its place in the output. each(take, count) calls take(index in x) for each element of the window
// in row-major order, and before it for each tap count(whether it lies on the map or its padding, whether on the map).
template <typename Body>
void for_each_window(const ReferenceCall& call, const Body& body) {
    const Shape& x = call.input(0).shape;
    const std::vector<int64_t>& kernel = call.attributes.integers(Attr::kernel_shape);
    const std::vector<int64_t>& steps = call.attributes.integers(Attr::strides);
    const std::vector<int64_t>& pads = call.attributes.integers(Attr::pads);
    const std::vector<int64_t>& dilations = call.attributes.integers(Attr::dilations);
    const size_t axes = kernel.size();
    for_each_index(call.output.shape, [&](const Index& at, size_t to) {
        body(
            to, [&]<typename Count = NoCount>(const auto& take, const Count& count = {}) {
                for_each_index(kernel, [&](const Index& tap, size_t) {
                    Index from = at;
                    bool inside = true;
                    bool counted = true;
                    for (size_t d = 0; d < axes; ++d) {
                        const int64_t extent = x[2 + d];
                        const int64_t k = at[2 + d] * steps[d] + tap[d] * dilations[d] - pads[d];
                        from[2 + d] = k;
                        inside = inside && k >= 0 && k < extent;
                        // A window of ceil_mode may reach behind the padding: nothing is there.
                        counted = counted && k < extent + pads[axes + d];
                    }
                    count(counted, inside);
                    if (inside) take(from);
                });
            });
    });
}

template <const Pooling& pooling>
void reference_pool(const ReferenceCall& call, bool counts_pads) {
    const ReferenceTensor& x = call.input(0);
    const std::vector<int64_t> strides = strides_of(x.shape);
    for_each_window(call, [&](size_t to, const auto& each_element) {
        double sum = pooling.start;
        double count = 0;
        each_element([&](const Index& from) { sum = pooling.next(sum, x.data[offset_of(from, strides)]); },
                     [&](bool counted, bool inside) { count += (counts_pads ? counted : inside) ? 1 : 0; });
        call.output.data[to] = pooling.end(sum, count);
    });
}

}  // namespace backplane::graph
