// References of ops of two operands that work element by element, with numpy's broadcasting.
#pragma once

#include "graph/op_definition.hpp"
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph {

using FloatFunction = double (*)(double a, double b);
using IntegerFunction = uint64_t (*)(int64_t a, int64_t b);  // modulo 2^64; null: the op takes floats only

template <FloatFunction on_floats, IntegerFunction on_integers>
void reference_binary(const ReferenceCall& call) {
    const ReferenceTensor& a = call.input(0);
    const ReferenceTensor& b = call.input(1);
    const auto a_strides = broadcast_strides(a.shape, call.output.shape);
    const auto b_strides = broadcast_strides(b.shape, call.output.shape);
    for_each_index(call.output.shape, [&](const Index& index, size_t i) {
        const double x = a.data[offset_of(index, a_strides)];
        const double y = b.data[offset_of(index, b_strides)];
        if constexpr (on_integers != nullptr) {
            if (is_integer(a.dtype)) {
                call.output.data[i] = wrapped(on_integers(to_integer(x), to_integer(y)), a.dtype);
                return;
            }
        }
        call.output.data[i] = on_floats(x, y);
    });
}

}  // namespace backplane::graph
