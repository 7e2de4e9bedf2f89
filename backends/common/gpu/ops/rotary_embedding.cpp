// RotaryEmbedding.
#include "common/gpu/ops/table.hpp"

namespace backplane::gpu::ops::rotary_embedding {

namespace {

void lower(Lowering& to, const Node& node) {
    const auto a = node.as<backplane::ops::RotaryEmbeddingAttributes>();
    const Value& x = to[node.inputs[0]];
    const backplane::ops::RotaryShape s(x.dim, a);
    const ValueId positions = node.input(3);
    const auto n = static_cast<uint64_t>(x.elements());
    to.each(step_label(to, node), variant_for_type(kKernel_rotary_embedding_f32, x.dtype), n,
            {to.reads(node.inputs[0]), to.reads(node.inputs[1]), to.reads(node.inputs[2]),
             to.reads_or(positions, node.inputs[0], 4), to.writes(node.output)},
            RotaryEmbeddingParameters{.size = word(s.size),
                                      .pairs = word(s.rotated / 2),
                                      .tokens = word(s.tokens),
                                      .heads = word(s.heads),
                                      .heads_first = s.heads_first ? 1U : 0U,
                                      .interleaved = a.interleaved ? 1U : 0U,
                                      .rows = word(to[node.inputs[1]].dim[0]),
                                      .position_words = words_of_index(to, positions)});
}

constexpr OpLowering table[] = {{BP_OP_rotary_embedding, Types::computes, 1U << 3, nullptr, lower}};

}  // namespace

const OpFamily ops_rotary_embedding = {table, std::size(table)};

}  // namespace backplane::gpu::ops::rotary_embedding
