// LayerNorm, RMSNormalization, BatchNorm, GroupNorm, InstanceNorm of f64. Statistics in two passes.
#include <algorithm>
#include <cmath>

#include "common/reduction.hpp"
#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::doubles_normalize {

namespace {

// Elements a thread should get at least.
constexpr int64_t kGrain = 8192;

const double* at_or_null(const Run& run, ValueId id) { return id != kNone ? run.at<double>(id) : nullptr; }

struct Statistics {
    double mean = 0, factor = 0;
};

// Of n elements at x, or of a row that is not centred.
Statistics statistics_of(const double* x, int64_t n, bool centred, double epsilon) {
    Statistics s;
    for (int64_t i = 0; i < n && centred; ++i) s.mean += x[i];
    s.mean /= static_cast<double>(n);
    double squares = 0;
    for (int64_t i = 0; i < n; ++i) squares += (x[i] - s.mean) * (x[i] - s.mean);
    s.factor = 1.0 / std::sqrt(squares / static_cast<double>(n) + epsilon);
    return s;
}

// Runs of `length` elements with one mean and variance. Element i of the whole has parameter i / repeats % count: LayerNorm one for each
// element of its rows, GroupNorm one for each channel.
struct Task {
    int64_t runs = 0, length = 1, repeats = 1, count = 1;
    bool centred = true;
    double epsilon = 0;

    void run(int64_t r, const double* x, double* y, const double* scale, const double* bias) const {
        const Statistics s = statistics_of(x, length, centred, epsilon);
        for (int64_t i = 0; i < length; ++i) {
            const int64_t at = (r * length + i) / repeats % count;
            y[i] = (x[i] - s.mean) * s.factor * (scale != nullptr ? scale[at] : 1.0) + (bias != nullptr ? bias[at] : 0.0);
        }
    }
};

void add(Lowering& to, const Node& node, Task t) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    const ValueId scale = node.input(1);
    const ValueId bias = t.centred ? node.input(2) : kNone;
    if (to[in].elements() == 0) return;
    t.runs = to[in].elements() / t.length;
    to.step(step_label(to, node), {in, scale, bias}, {out}, [=](const Run& run) {
        run.ranges(t.runs, std::max<int64_t>(1, kGrain / t.length), [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r)
                t.run(r, run.at<double>(in) + r * t.length, run.at<double>(out) + r * t.length, at_or_null(run, scale),
                      at_or_null(run, bias));
        });
    });
}

int64_t elements_from(const Value& value, size_t axis) {
    int64_t n = 1;
    for (size_t d = axis; d < value.dim.size(); ++d) n *= value.dim[d];
    return n;
}

void lower_rows(Lowering& to, const Node& node) {
    const auto how = node.as<backplane::ops::RowNormAttributes>();
    const int64_t n = elements_from(to[node.inputs[0]], static_cast<size_t>(how.axis));
    add(to, node, {.length = n, .count = n, .centred = node.op == BP_OP_layer_norm, .epsilon = how.epsilon});
}

void lower_groups(Lowering& to, const Node& node) {
    const Value& x = to[node.inputs[0]];
    const auto how = backend::groups_of(node, x.dim[1]);
    const int64_t pixels = elements_from(x, 2);
    add(to, node,
        {.length = x.dim[1] / how.groups.value * pixels, .repeats = pixels, .count = x.dim[1], .epsilon = how.epsilon});
}

void lower_batch_norm(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    if (to[in].elements() == 0) return;
    const int64_t channels = to[in].dim[1];
    const int64_t pixels = elements_from(to[in], 2);
    const int64_t maps = to[in].elements() / pixels;
    const double epsilon = node.as<backplane::ops::BatchNormAttributes>().epsilon;
    to.step(step_label(to, node), node.inputs, {out}, [=, inputs = node.inputs](const Run& run) {
        run.ranges(maps, std::max<int64_t>(1, kGrain / pixels), [&](int64_t begin, int64_t end) {
            for (int64_t map = begin; map < end; ++map) {
                const auto parameter = [&](size_t k) { return run.at<double>(inputs[k])[map % channels]; };
                const double factor = parameter(1) / std::sqrt(parameter(4) + epsilon);
                const double bias = parameter(2), mean = parameter(3);
                const double* x = run.at<double>(in) + map * pixels;
                double* y = run.at<double>(out) + map * pixels;
                for (int64_t i = 0; i < pixels; ++i) y[i] = (x[i] - mean) * factor + bias;
            }
        });
    });
}

constexpr OpLowering table[] = {in_doubles(BP_OP_layer_norm, lower_rows), in_doubles(BP_OP_rms_norm, lower_rows),
                                in_doubles(BP_OP_group_norm, lower_groups), in_doubles(BP_OP_instance_norm, lower_groups),
                                in_doubles(BP_OP_batch_norm, lower_batch_norm)};

}  // namespace

const OpFamily ops_doubles_normalize = {table, std::size(table)};

}  // namespace backplane::cpu::ops::doubles_normalize
