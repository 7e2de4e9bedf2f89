// RotaryEmbedding: (a, b) -> (a cos - b sin, a sin + b cos) for pairs of the first R numbers of each head, by the position of the token. ONNX
// RotaryEmbedding 23, RoFormer (arXiv:2104.09864). A position out of range is an error when the op runs.
// Types: f32, f16, bf16, f64. Attributes: interleaved, num_heads, rotary_embedding_dim.
#include "graph/op_definition.hpp"
#include "graph/ops/support/integers.hpp"

namespace backplane::graph::ops::rotary_embedding {

namespace {

void reference(const ReferenceCall& call) {
    const ReferenceTensor& x = call.input(0);
    const backplane::ops::RotaryEmbeddingAttributes a{call.attributes.integer(Attr::interleaved) != 0,
                                                      call.attributes.integer(Attr::num_heads),
                                                      call.attributes.integer(Attr::rotary_embedding_dim)};
    const backplane::ops::RotaryShape s(x.shape, a);
    call.output.data = x.data;
    const int64_t pairs = s.rotated / 2;
    for (int64_t n = 0; n < s.batch; ++n)
        for (int64_t t = 0; t < s.tokens; ++t) {
            int64_t row = n * s.tokens + t;
            if (call.has(3)) {
                row = to_integer(call.input(3).data[static_cast<size_t>(row)]);
                if (row < 0 || row >= call.input(1).shape[0])
                    throw Error(Code::invalid, "RotaryEmbedding: position " + std::to_string(row) + " lies outside the " +
                                                   std::to_string(call.input(1).shape[0]) + " rows of cos and sin");
            }
            for (int64_t h = 0; h < s.heads; ++h) {
                const int64_t token = s.heads_first ? (n * s.heads + h) * s.tokens + t : (n * s.tokens + t) * s.heads + h;
                for (int64_t i = 0; i < pairs; ++i) {
                    const auto first = static_cast<size_t>(token * s.size + (a.interleaved ? 2 * i : i));
                    const auto second = first + static_cast<size_t>(a.interleaved ? 1 : pairs);
                    const double c = call.input(1).data[static_cast<size_t>(row * pairs + i)];
                    const double z = call.input(2).data[static_cast<size_t>(row * pairs + i)];
                    call.output.data[first] = x.data[first] * c - x.data[second] * z;
                    call.output.data[second] = x.data[first] * z + x.data[second] * c;
                }
            }
        }
}

}  // namespace

constinit const OpDefinition op_rotary_embedding{backplane::ops::op_rotary_embedding, reference};

}  // namespace backplane::graph::ops::rotary_embedding
