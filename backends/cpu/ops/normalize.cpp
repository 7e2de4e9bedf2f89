// LayerNorm, RMSNormalization, BatchNorm, GroupNorm, InstanceNorm. Statistics in two passes: the mean, then squares of what is left after it.
#include <cmath>

#include "common/reduction.hpp"
#include "ops/strided_copy.hpp"
#include "ops/table.hpp"

namespace backplane::cpu::ops::normalize {

namespace {

// Floats a thread should get at least.
constexpr int64_t kGrain = 8192;
// Length of the runs whose sums are partial results of their own.
constexpr int64_t kPiece = 16384;

const float* at_or_null(const Run& run, ValueId id) { return id != kNone ? run.at<float>(id) : nullptr; }

void lower_rows(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    const ValueId scale = node.input(1);
    const bool centred = node.op == BP_OP_layer_norm;
    const ValueId bias = centred ? node.input(2) : kNone;
    const auto how = node.as<backplane::ops::RowNormAttributes>();
    const auto epsilon = static_cast<float>(how.epsilon);
    const int64_t total = to[in].elements();
    if (total == 0) return;
    int64_t n = 1;
    for (auto d = static_cast<size_t>(how.axis); d < to[in].dim.size(); ++d) n *= to[in].dim[d];
    to.step(step_label(to, node), {in, scale, bias}, {out},
            [=, reduce = to.kernels.reduce, kernels = to.kernels.normalize](const Run& run) {
                const float* from = run.at<float>(in);
                float* into = run.at<float>(out);
                const float* factors = at_or_null(run, scale);
                const float* shifts = at_or_null(run, bias);
                run.ranges(total / n, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
                    for (int64_t r = begin; r < end; ++r) {
                        const float* x = from + r * n;
                        const auto count = static_cast<double>(n);
                        const float mean = centred ? static_cast<float>(reduce.row[kReduceSum](x, n) / count) : 0.0f;
                        const double variance = reduce.row_squares(x, n, mean) / count;
                        const auto factor = static_cast<float>(1.0 / std::sqrt(variance + static_cast<double>(epsilon)));
                        kernels.row(x, into + r * n, n, mean, factor, factors, shifts);
                    }
                });
            });
}

// Shape of a feature map for the ops that work by channel, in either layout.
struct Maps {
    int64_t batch = 1, channels = 1, pixels = 1;
    bool channels_last = false;
};

Maps maps_of(const Value& value) {
    Maps m;
    m.batch = value.dim[0];
    m.channels = value.dim[1];
    for (size_t d = 2; d < value.dim.size(); ++d) m.pixels *= value.dim[d];
    m.channels_last = value.layout == Layout::channels_last || m.pixels == 1;
    return m;
}

// out = (x - mean) * factor + bias; the three hold one float a channel, `step` floats further for the next of the batch.
struct Affine {
    const float* mean;
    const float* factor;
    const float* bias;
    int64_t step;
};

void apply(const Run& run, const NormalizeKernels& kernels, const Maps& m, const float* from, float* into, const Affine& a) {
    if (m.channels_last) {
        run.ranges(m.batch * m.pixels, std::max<int64_t>(1, kGrain / m.channels), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t n = i / m.pixels * a.step;
                kernels.affine_columns(from + i * m.channels, into + i * m.channels, m.channels, a.mean + n, a.factor + n,
                                       a.bias + n);
            }
        });
        return;
    }
    const int64_t pieces = (m.pixels + kPiece - 1) / kPiece;
    run.ranges(m.batch * m.channels * pieces, std::max<int64_t>(1, kGrain / std::min(m.pixels, kPiece)),
               [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                       const int64_t map = i / pieces;
                       const int64_t first = i % pieces * kPiece;
                       const int64_t at = map * m.pixels + first;
                       const int64_t c = map / m.channels * a.step + map % m.channels;
                       kernels.affine(from + at, into + at, std::min(kPiece, m.pixels - first), a.mean[c], a.factor[c],
                                      a.bias[c]);
                   }
               });
}

void lower_batch_norm(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    const std::vector<ValueId> parameters(node.inputs.begin() + 1, node.inputs.begin() + 5);
    const auto epsilon = static_cast<double>(static_cast<float>(node.as<backplane::ops::BatchNormAttributes>().epsilon));
    const Maps maps = maps_of(to[in]);
    if (to[in].elements() == 0) return;
    const ValueId scratch = to.scratch(static_cast<uint64_t>(maps.channels) * sizeof(float));
    to.step(step_label(to, node), {in, parameters[0], parameters[1], parameters[2], parameters[3]}, {out},
            [=, kernels = to.kernels.normalize](const Run& run) {
                const float* scale = run.at<float>(parameters[0]);
                const float* variance = run.at<float>(parameters[3]);
                float* factor = run.at<float>(scratch);
                for (int64_t c = 0; c < maps.channels; ++c)
                    factor[c] = static_cast<float>(static_cast<double>(scale[c]) /
                                                   std::sqrt(static_cast<double>(variance[c]) + epsilon));
                apply(run, kernels, maps, run.at<float>(in), run.at<float>(out),
                      {run.at<float>(parameters[2]), factor, run.at<float>(parameters[1]), 0});
            });
}

// Sums over each group of channels, of x or of (x - mean)^2, as partial sums of pieces whose number depends on shapes alone.
struct GroupSums {
    Maps maps;
    int64_t groups = 1;
    ReduceKernels kernels{};

    [[nodiscard]] int64_t channels() const { return maps.channels / groups; }
    // A unit is what one run of a kernel sums: row-major a stretch of one map, channels-last some pixels of all channels.
    [[nodiscard]] int64_t length() const {
        return maps.channels_last ? std::max<int64_t>(1, kPiece / maps.channels) : kPiece;
    }
    [[nodiscard]] int64_t pieces() const { return (maps.pixels + length() - 1) / length(); }
    [[nodiscard]] int64_t partials() const { return maps.batch * maps.channels * pieces(); }

    // partial[(n * pieces + piece) * channels + c]; mean null: sums, else squares about mean[n * channels + c].
    void measure(const Run& run, const float* x, const float* mean, double* partial) const {
        const int64_t all = maps.channels;
        const int64_t units = maps.batch * pieces() * (maps.channels_last ? 1 : all);
        run.ranges(units, std::max<int64_t>(1, kGrain / std::min(kPiece, maps.pixels * (maps.channels_last ? all : 1))),
                   [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                           const int64_t c = maps.channels_last ? 0 : i % all;
                           const int64_t rest = maps.channels_last ? i : i / all;
                           const int64_t n = rest / pieces();
                           const int64_t first = rest % pieces() * length();
                           const int64_t count = std::min(length(), maps.pixels - first);
                           double* into = partial + rest * all + c;
                           if (maps.channels_last) {
                               const float* from = x + (n * maps.pixels + first) * all;
                               std::fill(into, into + all, 0.0);
                               if (mean == nullptr) {
                                   kernels.columns[kReduceSum](from, all, count, all, into);
                               } else {
                                   kernels.column_squares(from, all, count, all, mean + n * all, into);
                               }
                           } else {
                               const float* from = x + (n * all + c) * maps.pixels + first;
                               *into = mean == nullptr ? kernels.row[kReduceSum](from, count)
                                                       : kernels.row_squares(from, count, mean[n * all + c]);
                           }
                       }
                   });
    }
    [[nodiscard]] double average(const double* partial, int64_t n, int64_t group) const {
        double sum = 0;
        for (int64_t p = 0; p < pieces(); ++p)
            for (int64_t c = 0; c < channels(); ++c)
                sum += partial[(n * pieces() + p) * maps.channels + group * channels() + c];
        return sum / static_cast<double>(channels() * maps.pixels);
    }
};

void lower_group_norm(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    const ValueId scale = node.input(1);
    const ValueId bias = node.input(2);
    const auto how = backend::groups_of(node, to[in].dim[1]);
    const auto epsilon = static_cast<double>(static_cast<float>(how.epsilon));
    if (to[in].elements() == 0) return;
    const GroupSums sums{maps_of(to[in]), how.groups, to.kernels.reduce};
    const int64_t cells = sums.maps.batch * sums.maps.channels;
    const ValueId partials = to.scratch(static_cast<uint64_t>(sums.partials()) * sizeof(double));
    const ValueId statistics = to.scratch(static_cast<uint64_t>(3 * cells) * sizeof(float));
    to.step(step_label(to, node), {in, scale, bias}, {out}, [=, kernels = to.kernels.normalize](const Run& run) {
        const float* from = run.at<float>(in);
        const float* factors = at_or_null(run, scale);
        const float* shifts = at_or_null(run, bias);
        auto* partial = run.at<double>(partials);
        float* mean = run.at<float>(statistics);
        float* factor = mean + cells;
        float* shift = factor + cells;
        auto each = [&](auto&& body) {  // body(first cell of the group, its average)
            for (int64_t n = 0; n < sums.maps.batch; ++n)
                for (int64_t g = 0; g < sums.groups; ++g)
                    body(n * sums.maps.channels + g * sums.channels(), sums.average(partial, n, g));
        };
        sums.measure(run, from, nullptr, partial);
        each([&](int64_t first, double average) {
            std::fill(mean + first, mean + first + sums.channels(), static_cast<float>(average));
        });
        sums.measure(run, from, mean, partial);
        each([&](int64_t first, double variance) {
            const double inverse = 1.0 / std::sqrt(variance + epsilon);
            for (int64_t i = first; i < first + sums.channels(); ++i) {
                const int64_t c = i % sums.maps.channels;
                factor[i] = static_cast<float>(inverse * (factors != nullptr ? static_cast<double>(factors[c]) : 1.0));
                shift[i] = shifts != nullptr ? shifts[c] : 0.0f;
            }
        });
        apply(run, kernels, sums.maps, from, run.at<float>(out), {mean, factor, shift, sums.maps.channels});
    });
}

Verdict check_rows(const Plan& plan, const Node& node) {
    const Value& x = plan[node.inputs[0]];
    int64_t n = 1;
    for (auto d = static_cast<size_t>(node.as<backplane::ops::RowNormAttributes>().axis); d < x.dim.size(); ++d)
        n *= x.dim[d];
    for (size_t k = 1; k < node.inputs.size(); ++k)
        if (node.inputs[k] != kNone && plan[node.inputs[k]].elements() != n)
            return {BP_WHY_SHAPE,
                    node.text() + " takes a scale and bias of the normalised axes, not " + plan[node.inputs[k]].text()};
    return {};
}

Verdict check_groups(const Plan& plan, const Node& node) {
    const int64_t groups = node.as<backplane::ops::GroupNormAttributes>().groups;
    if (plan[node.inputs[0]].dim.size() < 2 || groups < 1 || plan[node.inputs[0]].dim[1] % groups != 0)
        return {BP_WHY_SHAPE, node.text() + " cannot divide the channels of " + plan[node.inputs[0]].text()};
    return {};
}

Verdict check_batch(const Plan& plan, const Node& node) {
    if (node.inputs.size() < 5 || plan[node.inputs[0]].dim.size() < 2)
        return {BP_WHY_SHAPE, node.text() + " takes [N,C,...], scale, bias, mean and variance"};
    return {};
}

constexpr OpLowering table[] = {
    {BP_OP_layer_norm, Types::computes, Wants::row_major, 0, check_rows, lower_rows},
    {BP_OP_rms_norm, Types::computes, Wants::row_major, 0, check_rows, lower_rows},
    {BP_OP_batch_norm, Types::computes, Wants::either, 0, check_batch, lower_batch_norm},
    {BP_OP_group_norm, Types::computes, Wants::either, 0, check_groups, lower_group_norm},
    {BP_OP_instance_norm, Types::computes, Wants::either, 0, nullptr, lower_group_norm},
};

}  // namespace

const OpFamily ops_normalize = {table, std::size(table)};

}  // namespace backplane::cpu::ops::normalize
