// ReduceLogSumExp over any axes: m + ln of the sum of e^(x - m), m the largest x.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/reduction.hpp"
#include "loop_nest.hpp"
#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::log_sum_exp {

namespace {

// Elements that are brought together, for the kernels take what lies side by side.
constexpr int64_t kPiece = 256;

struct Task {
    LoopNest<1> kept;     // the last loop has one element: rows are results
    LoopNest<1> reduced;  // rows of the last loop
    ReduceKernels reduce{};
    UnaryKernel exponential = nullptr;
};

// body(elements, n) for pieces of what is reduced at x.
template <typename Body>
void for_each_piece(const LoopNest<1>& nest, const float* x, const Body& body) {
    float piece[kPiece];
    const int64_t step = nest.stride[0].back();
    for (int64_t r = 0; r < nest.rows(); ++r) {
        const float* row = x + nest.row(r)[0];
        for (int64_t first = 0; first < nest.inner(); first += kPiece) {
            const int64_t n = std::min(kPiece, nest.inner() - first);
            for (int64_t i = 0; i < n; ++i) piece[i] = row[(first + i) * step];
            body(piece, n);
        }
    }
}

float reduce_one(const Task& t, const float* x) {
    double most = -std::numeric_limits<double>::infinity();
    for_each_piece(t.reduced, x, [&](const float* piece, int64_t n) {
        const double v = t.reduce.row[kReduceMost](piece, n);
        most = v > most || std::isnan(v) ? v : most;
    });
    if (!std::isfinite(most)) return static_cast<float>(most);
    double sum = 0;
    for_each_piece(t.reduced, x, [&](float* piece, int64_t n) {
        for (int64_t i = 0; i < n; ++i) piece[i] -= static_cast<float>(most);
        t.exponential(piece, piece, n, 0, 0);
        sum += t.reduce.row[kReduceSum](piece, n);
    });
    return static_cast<float>(most + std::log(sum));
}

void lower(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    const int64_t results = to[out].elements();
    if (results == 0) return;
    const auto [over, gone] = backend::split_axes(node, to[in].dim, strides_of(to[in]));
    // Sorted by stride, the kept axes stand in the order of the result: it has the layout of the operand.
    Task t{simplify<1>(over.size, {over.stride}), simplify<1>(gone.size, {gone.stride}), to.kernels.reduce,
           to.kernels.elementwise.unary[BP_OP_exp]};
    t.kept.size.push_back(1);
    t.kept.stride[0].push_back(1);
    const int64_t count = t.reduced.rows() * t.reduced.inner();
    to.step(step_label(to, node), {in}, {out}, [=](const Run& run) {
        const float* x = run.at<float>(in);
        float* y = run.at<float>(out);
        run.ranges(results, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, count)), [&](int64_t begin, int64_t end) {
            for (int64_t o = begin; o < end; ++o) y[o] = reduce_one(t, x + t.kept.row(o)[0]);
        });
    });
}

constexpr OpLowering table[] = {{BP_OP_reduce_log_sum_exp, Types::computes, Wants::either, 0, nullptr, lower}};

}  // namespace

const OpFamily ops_log_sum_exp = {table, std::size(table)};

}  // namespace backplane::cpu::ops::log_sum_exp
