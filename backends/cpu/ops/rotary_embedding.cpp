// RotaryEmbedding: a task is some heads of some tokens.
#include <algorithm>
#include <cstring>

#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::rotary_embedding {

namespace {

// Rows of cos and sin that tokens take, read when the step runs.
struct Rows {
    WholeNumbers positions;  // none: each its own
    int64_t count = 0;

    // Throws Failure(BP_INVALID): a position cannot be judged earlier, and must not become a read outside the operand.
    [[nodiscard]] int64_t of(const Run& run, int64_t token) const {
        if (!positions.given()) return token;
        const int64_t row = positions.in(run)[token];
        if (row < 0 || row >= count)
            throw sdk::Failure(BP_INVALID, "run: RotaryEmbedding got the position " + std::to_string(row) +
                                               " for cos and sin of " + std::to_string(count) + " rows");
        return row;
    }
};

void lower(Lowering& to, const Node& node) {
    const auto a = node.as<backplane::ops::RotaryEmbeddingAttributes>();
    const ValueId in = node.inputs[0];
    const ValueId cosines = node.inputs[1];
    const ValueId sines = node.inputs[2];
    const ValueId positions = node.input(3);
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    const backplane::ops::RotaryShape s(to[in].dim, a);
    const int64_t pairs = s.rotated / 2;
    const Rows rows{WholeNumbers(to, positions), to[cosines].dim[0]};
    const auto rotate = a.interleaved ? to.kernels.attention.rotate_interleaved : to.kernels.attention.rotate;
    to.step(step_label(to, node), {in, cosines, sines, positions}, {out}, [=](const Run& run) {
        const float* x = run.at<float>(in);
        float* y = run.at<float>(out);
        run.ranges(s.batch * s.heads * s.tokens, std::max<int64_t>(1, 4096 / s.size), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {  // in the order in which they lie
                const int64_t token = s.heads_first ? i / s.tokens / s.heads * s.tokens + i % s.tokens : i / s.heads;
                const int64_t row = rows.of(run, token) * pairs;
                rotate(x + i * s.size, run.at<float>(cosines) + row, run.at<float>(sines) + row, y + i * s.size, pairs);
                std::copy(x + i * s.size + s.rotated, x + (i + 1) * s.size, y + i * s.size + s.rotated);
            }
        });
    });
}

// Positions are whole numbers; the rest is float32 here.
constexpr OpLowering table[] = {{BP_OP_rotary_embedding, Types::judges, Wants::row_major, 0, nullptr, lower}};

}  // namespace

const OpFamily ops_rotary_embedding = {table, std::size(table)};

}  // namespace backplane::cpu::ops::rotary_embedding
