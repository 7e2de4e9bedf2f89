// MatMul of f64: a row of the result at a time, its sums in the order of the depths.
#include <algorithm>

#include "ops/strided_copy.hpp"
#include "ops/table.hpp"
#include "ops/walk.hpp"

namespace backplane::cpu::ops::doubles_matmul {

namespace {

struct Task {
    int64_t rows = 0, columns = 0, depth = 0;
    int64_t a_row = 0, a_depth = 0;         // distances in a
    bool by_columns = false;                // b is [..., N, K]
    std::vector<int64_t> a_batch, b_batch;  // where the matrices of each batch begin
    [[nodiscard]] int64_t batches() const { return static_cast<int64_t>(a_batch.size()); }

    void row(const double* a, const double* b, double* y) const {
        if (by_columns) {
            for (int64_t n = 0; n < columns; ++n) {
                double sum = 0;
                for (int64_t k = 0; k < depth; ++k) sum += a[k * a_depth] * b[n * depth + k];
                y[n] = sum;
            }
            return;
        }
        std::fill(y, y + columns, 0.0);
        for (int64_t k = 0; k < depth; ++k) {
            const double factor = a[k * a_depth];
            for (int64_t n = 0; n < columns; ++n) y[n] += factor * b[k * columns + n];
        }
    }
};

// Of each batch of a result of these dimensions where its matrix of the operand begins.
std::vector<int64_t> batches_of(const Value& operand, const std::vector<int64_t>& result) {
    const std::vector<int64_t> strides = broadcast_strides(operand, result);
    int64_t count = 1;
    for (size_t d = 0; d + 2 < result.size(); ++d) count *= result[d];
    std::vector<int64_t> first(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
        int64_t left = i;
        for (size_t d = result.size() - 2; d-- > 0; left /= result[d])
            first[static_cast<size_t>(i)] += left % result[d] * strides[d];
    }
    return first;
}

Task task_of(const Lowering& to, const Node& node) {
    const Value& a = to[node.inputs[0]];
    const Value& b = to[node.inputs[1]];
    const std::vector<int64_t>& y = to[node.output].dim;
    const auto how = node.as<backplane::ops::MatMulAttributes>();
    Task t;
    t.rows = y[y.size() - 2];
    t.columns = y.back();
    t.depth = a.dim[a.dim.size() - (how.transpose_a ? 2 : 1)];
    t.a_row = how.transpose_a ? 1 : t.depth;
    t.a_depth = how.transpose_a ? t.rows : 1;
    t.by_columns = how.transpose_b;
    t.a_batch = batches_of(a, y);
    t.b_batch = batches_of(b, y);
    return t;
}

void lower(Lowering& to, const Node& node) {
    const ValueId a = node.inputs[0];
    const ValueId b = node.inputs[1];
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    const Task t = task_of(to, node);
    const int64_t grain = std::max<int64_t>(1, kGrainElements / (t.columns * std::max<int64_t>(1, t.depth)));
    to.step("MatMul " + to[a].text() + " x " + to[b].text(), {a, b}, {out}, [=](const Run& run) {
        run.ranges(t.batches() * t.rows, grain, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const auto batch = static_cast<size_t>(i / t.rows);
                t.row(run.at<double>(a) + t.a_batch[batch] + i % t.rows * t.a_row, run.at<double>(b) + t.b_batch[batch],
                      run.at<double>(out) + i * t.columns);
            }
        });
    });
}

constexpr OpLowering table[] = {in_doubles(BP_OP_matmul, lower)};

}  // namespace

const OpFamily ops_doubles_matmul = {table, std::size(table)};

}  // namespace backplane::cpu::ops::doubles_matmul
