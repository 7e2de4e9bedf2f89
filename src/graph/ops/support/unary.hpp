// References of ops of one operand that work element by element.
#pragma once

#include "graph/element_types.hpp"
#include "graph/op_definition.hpp"

namespace backplane::graph {

// y of one element; `dtype` is that of both sides.
using UnaryFunction = double (*)(double x, const AttributeView& attributes, DType dtype);

template <UnaryFunction function>
void reference_unary(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    for (size_t i = 0; i < x.data.size(); ++i) call.output.data[i] = function(x.data[i], call.attributes, x.dtype);
}

}  // namespace backplane::graph
