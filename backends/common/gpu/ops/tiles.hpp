// What Conv and MatMul share: the tile of a workgroup, and the epilogue.
#pragma once

#include "common/gpu/lowering.hpp"

namespace backplane::gpu {

// A workgroup makes rows x columns, an invocation down x across of them.
struct Tile {
    uint32_t rows, columns, down, across, depth;
    [[nodiscard]] uint32_t invocations() const { return rows / down * (columns / across); }
};

// Of kernels that stand together, for f32, f16 and f32 by weights of f16, the one for what this node multiplies.
uint32_t variant(uint32_t f32, const Lowering& to, const Node& node);

// For a product of so many rows and columns, `batch` times over.
Tile choose_tile(const Abilities& can, int64_t rows, int64_t columns, int64_t batch);

// What the epilogue does, known when the kernel is built: 1 + the kind of each step in four bits, the first lowest.
uint32_t epilogue_kinds(const Node& node);
// The function of the epilogue beyond the cheap ones; 0: none.
uint32_t epilogue_function(const Node& node);
void append_epilogue(std::vector<uint32_t>& parameters, const Node& node);
// Operands 3, 4 and 5: bias and what is added, or `otherwise` where there is none.
void append_epilogue_operands(const Lowering& to, std::vector<Operand>& operands, const Node& node, ValueId otherwise);
// " + bias + LeakyRelu"
std::string epilogue_text(const Node& node);

}  // namespace backplane::gpu
