// Ops of one operand that work element by element: y has the dtype and shape of x.
#pragma once

#include "graph/ops/support/checks.hpp"

namespace backplane::graph {

// y of one element; `dtype` is that of both sides.
using UnaryFunction = double (*)(double x, const AttributeView& attributes, DType dtype);

inline constexpr InputRule kUnaryInputs[] = {{"x"}};

template <Types types>
InferResult infer_unary(const InferCall& call) {
    require_types(call, 0, types);
    return {call.dtype(0), call.shape(0)};
}

template <UnaryFunction function>
void reference_unary(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    for (size_t i = 0; i < x.data.size(); ++i) call.output.data[i] = function(x.data[i], call.attributes, x.dtype);
}

template <UnaryFunction function, Types types = Types::floats>
constexpr OpDefinition unary(Op op, const char* name, const char* summary, std::span<const AttributeRule> attributes = {}) {
    OpDefinition d;
    d.op = op;
    d.name = name;
    d.summary = summary;
    d.inputs = kUnaryInputs;
    d.attributes = attributes;
    d.infer = infer_unary<types>;
    d.reference = reference_unary<function>;
    return d;
}

}  // namespace backplane::graph
