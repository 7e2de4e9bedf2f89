// References of ops of which f32 has the number nearest to the result: what follows, Round above all, decides by its last digit.
#pragma once

#include "graph/element_types.hpp"
#include "graph/op_definition.hpp"

namespace backplane::graph {

template <void (*reference)(const ReferenceCall&)>
void reference_nearest(const ReferenceCall& call) {
    reference(call);
    if (call.output.dtype != DType::f32) return;
    for (double& v : call.output.data) v = round_to(v, DType::f32);
}

}  // namespace backplane::graph
