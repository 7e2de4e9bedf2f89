// Ops of two operands that work element by element, with numpy's broadcasting.
#pragma once

#include <algorithm>

#include "graph/ops/support/checks.hpp"
#include "graph/ops/support/indexing.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph {

using FloatFunction = double (*)(double a, double b);
using IntegerFunction = uint64_t (*)(int64_t a, int64_t b);  // modulo 2^64; null: the op takes floats only

inline constexpr InputRule kBinaryInputs[] = {{"a"}, {"b"}};

// The common shape of `a` and `b`; empty optional axes count as 1.
inline Shape broadcast(const InferCall& call, const Shape& a, const Shape& b) {
    Shape out(std::max(a.size(), b.size()));
    for (size_t d = 0; d < out.size(); ++d) {
        const int64_t m = d < a.size() ? a[a.size() - 1 - d] : 1;
        const int64_t n = d < b.size() ? b[b.size() - 1 - d] : 1;
        require(call, m == n || m == 1 || n == 1, call.text(0) + " and " + call.text(1) + " do not broadcast");
        out[out.size() - 1 - d] = m == 1 ? n : m;
    }
    return out;
}

template <Types types>
InferResult infer_binary(const InferCall& call) {
    require_types(call, 0, types);
    require_same_dtype(call, 0, 1);
    return {call.dtype(0), broadcast(call, call.shape(0), call.shape(1))};
}

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

template <FloatFunction on_floats, IntegerFunction on_integers>
constexpr OpDefinition binary(Op op, const char* name, const char* summary) {
    OpDefinition d;
    d.op = op;
    d.name = name;
    d.summary = summary;
    d.inputs = kBinaryInputs;
    d.infer = infer_binary < on_integers != nullptr ? Types::numbers : Types::floats > ;
    d.reference = reference_binary<on_floats, on_integers>;
    return d;
}

}  // namespace backplane::graph
