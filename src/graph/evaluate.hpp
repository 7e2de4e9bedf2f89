// The oracle: runs a graph in float64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backplane/graph.hpp"
#include "graph/op_definition.hpp"

namespace backplane::graph {

struct TensorBytes {
    TensorId tensor;
    std::span<const std::byte> bytes;
};
struct TensorRoom {
    TensorId tensor;
    std::span<std::byte> bytes;
};

// Runs all nodes. `inputs` gives each INPUT, WEIGHT and STATE that a node reads, dense and row-major. What nodes write
// is kept in double between f32 and f64 nodes, and rounded to its dtype otherwise. Returns one tensor per tensor of the
// graph: filled for OUTPUTs and for tensors that update a STATE (not yet rounded when f32), empty data for all others.
// Throws Error: invalid (an input missing, given twice or of the wrong size; an index out of range), cancelled (*cancel
// became non-zero; looked at between nodes), no_host_memory. Keeps no state; may be called from many threads.
std::vector<ReferenceTensor> evaluate_values(const Graph& graph, std::span<const TensorBytes> inputs,
                                             const volatile uint32_t* cancel = nullptr);

// The same, encoded: `outputs` may name OUTPUTs, and STATEs (the value after the run). Rooms are written after all
// nodes ran, so an output may share memory with an input. Nothing is written when it throws.
void evaluate(const Graph& graph, std::span<const TensorBytes> inputs, std::span<const TensorRoom> outputs,
              const volatile uint32_t* cancel = nullptr);

// Whether a node puts elements into a state and so gives it its new value: what it does not write stays as it is, and where it is.
bool is_update_in_place(const Graph& graph, const Node& node);

// Types and shapes of a node's outputs.
std::vector<Operand> outputs_of(const Graph& graph, const Node& node);

// One node on its own: the outputs' data, not rounded.
std::vector<ReferenceTensor> evaluate_node(const OpDefinition& definition, std::span<const ReferenceTensor* const> inputs,
                                           std::span<const Attribute> attributes, std::span<const Operand> outputs);

}  // namespace backplane::graph
