// Sums, products, norms, means, largest and smallest over any axes.
//
// The operand is cut into pieces along the reduced axes (their number depends on shapes alone, so results do not depend on the
// number of threads); each piece leaves a partial result per element in double, a last pass joins them in order.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/reduction.hpp"
#include "loop_nest.hpp"
#include "ops/integer_reduction.hpp"
#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::reduce {

namespace {

// Elements a piece should have at least.
constexpr int64_t kPieceElements = 32768;
constexpr int64_t kColumns = 256;

struct ReduceTask {
    ReduceKind kind = kReduceSum;
    LoopNest<1> kept;     // the last loop: columns of stride 1, or one element
    LoopNest<1> reduced;  // the last loop: the rows of a column, or the row of stride 1
    bool by_columns = false;
    int64_t first_extent = 1;  // of the loop that is cut: reduced.size[0]
    int64_t pieces = 1, piece = 1;
    int64_t strips = 1, outputs = 1;
    ReduceKernels kernels{};
};

double identity(ReduceKind kind) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    switch (kind) {
        case kReduceMost: return -infinity;
        case kReduceLeast: return infinity;
        case kReduceProduct: return 1.0;
        default: return 0.0;
    }
}

double join(ReduceKind kind, double a, double b) {
    switch (kind) {
        case kReduceMost: return a > b || a != a ? a : b;
        case kReduceLeast: return a < b || a != a ? a : b;
        case kReduceProduct: return a * b;
        default: return a + b;
    }
}

// Partial results of one strip of columns (or one element) over one piece of the reduced loops.
void reduce_piece(const ReduceTask& t, const float* x, int64_t columns, int64_t piece, double* into) {
    const LoopNest<1>& nest = t.reduced;
    x += piece * t.piece * nest.stride[0][0];
    const int64_t extent = std::min(t.piece, t.first_extent - piece * t.piece);
    const bool one_loop = nest.size.size() == 1;
    const int64_t rows = one_loop ? 1 : nest.rows() / t.first_extent * extent;
    const int64_t inner = one_loop ? extent : nest.inner();
    std::fill(into, into + columns, identity(t.kind));
    for (int64_t r = 0; r < rows; ++r) {
        const float* at = x + nest.row(r)[0];
        if (t.by_columns) {
            t.kernels.columns[t.kind](at, nest.stride[0].back(), inner, columns, into);
        } else {
            into[0] = join(t.kind, into[0], t.kernels.row[t.kind](at, inner));
        }
    }
}

ReduceTask task_of(const Value& in, const std::vector<bool>& is_reduced) {
    std::vector<int64_t> kept, kept_stride, reduced, reduced_stride;
    const auto strides = strides_of(in);
    for (size_t d = 0; d < in.dim.size(); ++d) {
        (is_reduced[d] ? reduced : kept).push_back(in.dim[d]);
        (is_reduced[d] ? reduced_stride : kept_stride).push_back(strides[d]);
    }
    ReduceTask t;
    // Sorted by stride, the kept axes stand in the order of the result: it has the layout of the operand.
    t.kept = simplify<1>(kept, {kept_stride});
    t.reduced = simplify<1>(reduced, {reduced_stride});
    t.by_columns = t.reduced.stride[0].back() != 1;
    if (!t.by_columns || t.kept.stride[0].back() != 1) {
        t.kept.size.push_back(1);
        t.kept.stride[0].push_back(1);
    }
    t.outputs = t.kept.rows() * t.kept.inner();
    t.strips = (t.kept.inner() + kColumns - 1) / kColumns;
    t.first_extent = t.reduced.size[0];
    const int64_t others = t.reduced.rows() * t.reduced.inner() / t.first_extent;
    t.piece = std::clamp<int64_t>(kPieceElements / std::max<int64_t>(1, others * std::min(t.kept.inner(), kColumns)), 1,
                                  t.first_extent);
    t.pieces = (t.first_extent + t.piece - 1) / t.piece;
    return t;
}

// Of the total: divided, and its root where one is wanted.
struct Ending {
    double divisor = 1;
    bool root = false;
    [[nodiscard]] float of(double total) const { return static_cast<float>(root ? std::sqrt(total) : total / divisor); }
};

void add_reduction(Lowering& to, const std::string& label, ValueId in, ValueId out, ReduceTask t, const Ending& ending) {
    t.kernels = to.kernels.reduce;
    const ValueId partial = to.scratch(static_cast<uint64_t>(t.pieces * t.outputs) * sizeof(double));
    const int64_t elements =
        t.piece * (t.reduced.rows() * t.reduced.inner() / t.first_extent) * std::min(t.kept.inner(), kColumns);
    const int64_t grain = std::max<int64_t>(1, kPieceElements / elements / 2);
    to.step(label, {in}, {out}, [=](const Run& run) {
        const float* from = run.at<float>(in);
        float* into = run.at<float>(out);
        auto* partials = run.at<double>(partial);
        const int64_t inner = t.kept.inner();
        run.ranges(t.kept.rows() * t.strips * t.pieces, grain, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t piece = i % t.pieces;
                const int64_t first = i / t.pieces % t.strips * kColumns;
                const int64_t row = i / t.pieces / t.strips;
                reduce_piece(t, from + t.kept.row(row)[0] + first, std::min(kColumns, inner - first), piece,
                             partials + piece * t.outputs + row * inner + first);
            }
        });
        run.ranges(t.outputs, 4096, [&](int64_t begin, int64_t end) {
            for (int64_t o = begin; o < end; ++o) {
                double total = partials[o];
                for (int64_t p = 1; p < t.pieces; ++p) total = join(t.kind, total, partials[p * t.outputs + o]);
                into[o] = ending.of(total);
            }
        });
    });
}

ReduceKind kind_of(uint32_t op) {
    switch (op) {
        case BP_OP_reduce_max: return kReduceMost;
        case BP_OP_reduce_min: return kReduceLeast;
        case BP_OP_reduce_prod: return kReduceProduct;
        case BP_OP_reduce_l1: return kReduceSizes;
        case BP_OP_reduce_l2:
        case BP_OP_reduce_sum_square: return kReduceSquares;
        default: return kReduceSum;
    }
}

void lower(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    const std::vector<bool> is_reduced = backend::reduced_axes(node, to[in].dim.size());
    int64_t count = 1;
    for (size_t d = 0; d < is_reduced.size(); ++d)
        if (is_reduced[d]) count *= to[in].dim[d];
    if (to[out].elements() == 0) return;
    const ReduceKind kind = kind_of(node.op);
    const std::string label = std::string(sdk::op_name(node.op)).append(" ").append(to[in].text());
    if (to[in].dtype == BP_I32 || to[in].dtype == BP_I64) return add_integer_reduction(to, label, node, count);
    const Ending ending{backend::is_mean(node) ? static_cast<double>(count) : 1.0, node.op == BP_OP_reduce_l2};
    if (count == 0) {  // of nothing: 0, 1 for the product, NaN for the mean, and the infinities
        const float value = ending.of(identity(kind));
        const int64_t n = to[out].elements();
        to.step(label, {in}, {out}, [=](const Run& run) { std::fill_n(run.at<float>(out), n, value); });
        return;
    }
    ReduceTask task = task_of(to[in], is_reduced);
    task.kind = kind;
    add_reduction(to, label, in, out, std::move(task), ending);
}

constexpr OpLowering reduction(uint32_t op) { return {op, Types::numbers, Wants::either, 0, nullptr, lower}; }

constexpr OpLowering table[] = {
    reduction(BP_OP_reduce_sum), reduction(BP_OP_reduce_mean),       reduction(BP_OP_reduce_max),
    reduction(BP_OP_reduce_min), reduction(BP_OP_reduce_prod),       reduction(BP_OP_reduce_l1),
    reduction(BP_OP_reduce_l2),  reduction(BP_OP_reduce_sum_square), reduction(BP_OP_global_average_pool)};

}  // namespace

const OpFamily ops_reduce = {table, std::size(table)};

}  // namespace backplane::cpu::ops::reduce
