// Weights on their way from a file's element type to a kernel's packed form.
#pragma once

#include <cstdint>
#include <vector>

#include "lowering.hpp"

namespace backplane::cpu {

// Element types a packed weight may have: f32, f16, bf16 and the block types.
bool can_decode(uint32_t dtype);
// The check of convolutions, whose filters are operand 1.
Verdict check_filters(const Plan& plan, const Node& node);
// `count` elements as float32; of block types, whole blocks.
void decode(const std::byte* plain, uint32_t dtype, int64_t count, float* out);
std::vector<float> decode(const std::byte* plain, uint32_t dtype, int64_t count);

// Columns that block-packed weights hold for `columns` real ones: whole vectors in the last block.
int64_t padded_columns(int64_t columns, int64_t lanes);

// Packs a matrix of depth x columns, element (k, c) given by at(k, c), as [block][k][columns of the block].
template <typename At>
void pack_blocks(int64_t depth, int64_t columns, int64_t block, int64_t lanes, float* out, At at) {
    for (int64_t first = 0; first < columns; first += block) {
        const int64_t valid = std::min(block, columns - first);
        const int64_t width = padded_columns(valid, lanes);
        for (int64_t k = 0; k < depth; ++k)
            for (int64_t c = 0; c < width; ++c) *out++ = c < valid ? at(k, first + c) : 0.0f;
    }
}

// The epilogue of a node, with the addresses of one run.
Epilogue epilogue_of(const std::vector<PostOp>& post, const Plan& plan, const Run& run, int64_t columns);
// Values that a node's epilogue reads.
std::vector<ValueId> epilogue_reads(const Node& node);
// ", bias, Relu, add": for summaries.
std::string epilogue_text(const Node& node);

}  // namespace backplane::cpu
