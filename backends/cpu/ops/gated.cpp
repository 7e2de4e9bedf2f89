// Gated linear units: the function goes into the result a piece at a time, which is multiplied while it is in the nearest cache.
#include "common/gates.hpp"

#include <algorithm>

#include "ops/strided_copy.hpp"
#include "ops/table.hpp"
#include "ops/walk.hpp"

namespace backplane::cpu::ops::gated {

namespace {

constexpr int64_t kPiece = 2048;

backend::Gated gated_of(const Lowering& to, const Node& node) {
    const Value& x = to[node.inputs[0]];
    const Value& y = to[node.output];
    if (x.layout != Layout::channels_last) return backend::gated_of(x, y);
    // Channels lie next to each other, and axes of pixels behind them.
    backend::Value moved_x = x, moved_y = y;
    for (backend::Value* value : {&moved_x, &moved_y})
        std::rotate(value->dim.begin() + 1, value->dim.begin() + 2, value->dim.end());
    return backend::gated_of(moved_x, moved_y);
}

void lower(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    const PostOp function = node.post.front();
    const UnaryKernel gate = to.kernels.elementwise.unary[function.op];
    const BinaryKernel times = to.kernels.elementwise.binary[BP_OP_mul];
    const backend::Gated g = gated_of(to, node);
    const int64_t gated = node.part == 0 ? 0 : g.half, plain = g.half - gated;
    const int64_t pieces = (g.half + kPiece - 1) / kPiece;
    to.step(std::string("Mul by ") + sdk::op_name(function.op) + " " + to[out].text(), {in}, {out}, [=](const Run& run) {
        run.ranges(g.outer * pieces, std::max<int64_t>(1, kGrainElements / std::min(kPiece, g.half)),
                   [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                           const int64_t row = i / pieces, first = i % pieces * kPiece;
                           const int64_t n = std::min(kPiece, g.half - first);
                           const float* x = run.at<float>(in) + row * 2 * g.half + first;
                           float* y = run.at<float>(out) + row * g.half + first;
                           gate(x + gated, y, n, function.a, function.b);
                           times(x + plain, 1, y, 1, y, n);
                       }
                   });
    });
}

constexpr OpLowering table[] = {{backend::kOpGated, Types::computes, Wants::either, 0, nullptr, lower}};

}  // namespace

const OpFamily ops_gated = {table, std::size(table)};

}  // namespace backplane::cpu::ops::gated
