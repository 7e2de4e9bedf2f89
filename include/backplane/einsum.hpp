// Einstein sums, as the products, transposes and sums that they are: there is no op of the name, the graph gets those of the table.
//
//   const TensorId scores = einsum(g, "bqhd,bkhd->bhqk", {q, k});      // two Transposes and a MatMul
//   const TensorId back = einsum(g, "nchw->nhwc", {x});                // a Transpose
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "backplane/graph.hpp"

namespace backplane {

// ONNX Einsum 12 of one or two operands: letters name axes, "..." those that are not named; without "->" the result has the letters that occur
// once, in the order of the alphabet. A letter that two operands have and the result has not is the depth of a MatMul, one that both and the result have
// counts its batch, one that an operand alone has is summed, one that an operand has twice is its diagonal. Throws Error(invalid), which begins with "Einsum"
// and the equation: three operands and more, extents that differ, what no equation is. Threads: as the Graph's.
TensorId einsum(Graph& graph, std::string_view equation, std::span<const TensorId> operands, const std::string& name = {});
inline TensorId einsum(Graph& graph, std::string_view equation, std::initializer_list<TensorId> operands,
                       const std::string& name = {}) {
    return einsum(graph, equation, std::span<const TensorId>(operands.begin(), operands.size()), name);
}

}  // namespace backplane
