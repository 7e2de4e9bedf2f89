// Reductions, Softmax and LogSoftmax of f64: each result by one thread, in the order of the elements.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/reduction.hpp"
#include "loop_nest.hpp"
#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::doubles_reduce {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Elements a thread should get at least.
constexpr int64_t kGrain = 4096;

// What one result is made of, from its first element on.
using Reduce = double (*)(const LoopNest<1>& nest, const double* x);

template <typename Take>
double fold(const LoopNest<1>& nest, const double* x, double so_far, const Take& take) {
    const int64_t step = nest.stride[0].back();
    for (int64_t r = 0; r < nest.rows(); ++r) {
        const double* row = x + nest.row(r)[0];
        for (int64_t i = 0; i < nest.inner(); ++i) so_far = take(so_far, row[i * step]);
    }
    return so_far;
}

double sum(const LoopNest<1>& nest, const double* x) {
    return fold(nest, x, 0, [](double a, double v) { return a + v; });
}
double mean(const LoopNest<1>& nest, const double* x) {
    return sum(nest, x) / static_cast<double>(nest.rows() * nest.inner());
}
double product(const LoopNest<1>& nest, const double* x) {
    return fold(nest, x, 1, [](double a, double v) { return a * v; });
}
double sum_of_sizes(const LoopNest<1>& nest, const double* x) {
    return fold(nest, x, 0, [](double a, double v) { return a + std::fabs(v); });
}
double sum_of_squares(const LoopNest<1>& nest, const double* x) {
    return fold(nest, x, 0, [](double a, double v) { return a + v * v; });
}
double length(const LoopNest<1>& nest, const double* x) { return std::sqrt(sum_of_squares(nest, x)); }
double largest(const LoopNest<1>& nest, const double* x) {
    return fold(nest, x, -kInfinity, [](double a, double v) { return v > a || std::isnan(v) ? v : a; });
}
double smallest(const LoopNest<1>& nest, const double* x) {
    return fold(nest, x, kInfinity, [](double a, double v) { return v < a || std::isnan(v) ? v : a; });
}
double log_sum_exp(const LoopNest<1>& nest, const double* x) {
    const double most = largest(nest, x);
    if (!std::isfinite(most)) return most;
    return most + std::log(fold(nest, x, 0, [most](double a, double v) { return a + std::exp(v - most); }));
}

Reduce reduce_of(uint32_t op) {
    switch (op) {
        case BP_OP_reduce_mean:
        case BP_OP_global_average_pool: return mean;
        case BP_OP_reduce_max: return largest;
        case BP_OP_reduce_min: return smallest;
        case BP_OP_reduce_prod: return product;
        case BP_OP_reduce_l1: return sum_of_sizes;
        case BP_OP_reduce_l2: return length;
        case BP_OP_reduce_sum_square: return sum_of_squares;
        case BP_OP_reduce_log_sum_exp: return log_sum_exp;
        default: return sum;
    }
}

void lower_reduction(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    const int64_t results = to[out].elements();
    if (results == 0) return;
    const auto [over, gone] = backend::split_axes(node, to[in].dim, strides_of(to[in]));
    auto kept = simplify<1>(over.size, {over.stride});
    const auto reduced = simplify<1>(gone.size, {gone.stride});
    kept.size.push_back(1);  // rows are results
    kept.stride[0].push_back(1);
    const int64_t count = std::max<int64_t>(1, reduced.rows() * reduced.inner());
    to.step(step_label(to, node), {in}, {out}, [=, reduce = reduce_of(node.op)](const Run& run) {
        run.ranges(results, std::max<int64_t>(1, kGrain / count), [&](int64_t begin, int64_t end) {
            for (int64_t o = begin; o < end; ++o)
                run.at<double>(out)[o] = reduce(reduced, run.at<double>(in) + kept.row(o)[0]);
        });
    });
}

struct Line {
    int64_t extent = 1, step = 1;
    bool logarithm = false;

    void soften(const double* x, double* y) const {
        double most = -kInfinity;
        for (int64_t e = 0; e < extent; ++e) most = std::max(most, x[e * step]);
        double sum = 0;
        for (int64_t e = 0; e < extent; ++e) sum += y[e * step] = std::exp(x[e * step] - most);
        const double log_of_sum = std::log(sum);
        for (int64_t e = 0; e < extent; ++e) y[e * step] = logarithm ? x[e * step] - most - log_of_sum : y[e * step] / sum;
    }
};

void lower_softmax(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    const auto axis = static_cast<size_t>(node.as<backplane::ops::SoftmaxAttributes>().axis);
    const Line line{to[in].dim[axis], strides_of(to[in])[axis], node.op == BP_OP_log_softmax};
    const int64_t lines = to[in].elements() / line.extent;
    to.step(step_label(to, node), {in}, {out}, [=](const Run& run) {
        run.ranges(lines, std::max<int64_t>(1, kGrain / 8 / line.extent), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t at = i / line.step * line.step * line.extent + i % line.step;
                line.soften(run.at<double>(in) + at, run.at<double>(out) + at);
            }
        });
    });
}

constexpr OpLowering table[] = {in_doubles(BP_OP_reduce_sum, lower_reduction),
                                in_doubles(BP_OP_reduce_mean, lower_reduction),
                                in_doubles(BP_OP_reduce_max, lower_reduction),
                                in_doubles(BP_OP_reduce_min, lower_reduction),
                                in_doubles(BP_OP_reduce_prod, lower_reduction),
                                in_doubles(BP_OP_reduce_l1, lower_reduction),
                                in_doubles(BP_OP_reduce_l2, lower_reduction),
                                in_doubles(BP_OP_reduce_sum_square, lower_reduction),
                                in_doubles(BP_OP_reduce_log_sum_exp, lower_reduction),
                                in_doubles(BP_OP_global_average_pool, lower_reduction),
                                in_doubles(BP_OP_softmax, lower_softmax),
                                in_doubles(BP_OP_log_softmax, lower_softmax)};

}  // namespace

const OpFamily ops_doubles_reduce = {table, std::size(table)};

}  // namespace backplane::cpu::ops::doubles_reduce
