#include "run_op.hpp"

using namespace harness;

class Normalize : public PerLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, Normalize, testing::ValuesIn(masks()));

namespace {

// Mean and variance of elements first, first + step, ...
struct Moments {
    double mean = 0, variance = 0;
};
Moments moments(const Floats& x, size_t first, size_t n) {
    Moments m;
    for (size_t i = 0; i < n; ++i) m.mean += x[first + i];
    m.mean /= static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) m.variance += std::pow(x[first + i] - m.mean, 2);
    m.variance /= static_cast<double>(n);
    return m;
}

}  // namespace

TEST_P(Normalize, LayerNormHoldsAtALargeMean) {
    Floats x = random_floats(7 * 301, 1);
    for (float& v : x) v += 1000.0f;
    const Floats scale = random_floats(301, 2);
    const Floats bias = random_floats(301, 3);
    const Floats got =
        run_op(options(), BP_OP_layer_norm, {operand({7, 301}, x), operand({301}, scale), operand({301}, bias)}, {7, 301},
               {integer(BP_ATTR_axis, 1)});
    for (size_t r = 0; r < 7; ++r) {
        const Moments m = moments(x, r * 301, 301);
        for (size_t i = 0; i < 301; ++i)
            ASSERT_NEAR(got[r * 301 + i], (x[r * 301 + i] - m.mean) / std::sqrt(m.variance + 1e-5) * scale[i] + bias[i],
                        2e-4);
    }
}

TEST_P(Normalize, GroupNormAndBatchNorm) {
    const Floats x = random_floats(2 * 6 * 35 * 9, 1, 3.0f);
    const Floats scale = random_floats(6, 2);
    const Floats bias = random_floats(6, 3);
    const Floats got =
        run_op(options(), BP_OP_group_norm, {operand({2, 6, 35, 9}, x), operand({6}, scale), operand({6}, bias)},
               {2, 6, 35, 9}, {integer(BP_ATTR_groups, 3)});
    for (size_t g = 0; g < 6; ++g) {
        const Moments m = moments(x, g * 630, 630);
        for (size_t i = g * 630; i < (g + 1) * 630; ++i) {
            const size_t c = i / 315 % 6;
            ASSERT_NEAR(got[i], (x[i] - m.mean) / std::sqrt(m.variance + 1e-5) * scale[c] + bias[c], 1e-5);
        }
    }
    const Floats variance = {0.5f, 1, 2, 3, 4, 5};
    const Floats batch = run_op(
        options(), BP_OP_batch_norm,
        {operand({2, 6, 35, 9}, x), operand({6}, scale), operand({6}, bias), operand({6}, bias), operand({6}, variance)},
        {2, 6, 35, 9}, {number(BP_ATTR_epsilon, 1e-3)});
    for (size_t i = 0; i < x.size(); ++i) {
        const size_t c = i / 315 % 6;
        ASSERT_NEAR(batch[i], (x[i] - bias[c]) / std::sqrt(variance[c] + 1e-3) * scale[c] + bias[c], 1e-5);
    }
}

TEST_P(Normalize, SoftmaxAlongEveryAxisSumsToOneAndSurvivesLargeValues) {
    Floats x = random_floats(3 * 70 * 67, 1, 40.0f);
    x[5] = 1e30f;
    const Dims dims = {3, 70, 67};
    for (const int64_t axis : {0, 1, 2}) {
        const Floats got = run_op(options(), BP_OP_softmax, {operand(dims, x)}, dims, {integer(BP_ATTR_axis, axis)});
        const size_t stride = axis == 0 ? 70 * 67 : axis == 1 ? 67 : 1;
        const auto n = static_cast<size_t>(dims[static_cast<size_t>(axis)]);
        for (size_t i = 0; i < x.size(); ++i) {
            if (i / stride % n != 0) continue;
            double most = -HUGE_VAL;
            double sum = 0;
            for (size_t k = 0; k < n; ++k) most = std::max<double>(most, x[i + k * stride]);
            for (size_t k = 0; k < n; ++k) sum += std::exp(x[i + k * stride] - most);
            for (size_t k = 0; k < n; ++k)
                ASSERT_TRUE(same(got[i + k * stride], std::exp(x[i + k * stride] - most) / sum, 2e-5, 1e-37)) << axis;
        }
    }
}

TEST_P(Normalize, ReductionsOverAnyAxesAreAccurate) {
    const Dims dims = {5, 33, 4, 70};
    Floats x = random_floats(count(dims), 1);
    for (float& v : x) v += 100.0f;
    for (uint32_t mask = 1; mask < 16; ++mask) {
        Dims axes, out;
        for (size_t d = 0; d < 4; ++d) {
            const bool reduced = (mask >> d & 1) != 0;
            if (reduced) axes.push_back(static_cast<int64_t>(d));
            out.push_back(reduced ? 1 : dims[d]);
        }
        std::vector<double> sum(static_cast<size_t>(count(out))), most(sum.size(), -HUGE_VAL);
        for (size_t i = 0; i < x.size(); ++i) {
            size_t rest = i, at = 0, step = 1;
            for (size_t d = 4; d-- > 0; rest /= static_cast<size_t>(dims[d])) {
                if ((mask >> d & 1) == 0) at += rest % static_cast<size_t>(dims[d]) * step;
                step *= static_cast<size_t>(out[d]);
            }
            sum[at] += x[i];
            most[at] = std::max<double>(most[at], x[i]);
        }
        const Floats sums = run_op(options(), BP_OP_reduce_sum, {operand(dims, x)}, out, {list(BP_ATTR_axes, axes)});
        const Floats mosts = run_op(options(), BP_OP_reduce_max, {operand(dims, x)}, out, {list(BP_ATTR_axes, axes)});
        for (size_t o = 0; o < sum.size(); ++o) {
            ASSERT_TRUE(same(sums[o], sum[o], 3e-7, 0)) << "axes " << mask;
            ASSERT_EQ(mosts[o], static_cast<float>(most[o])) << "axes " << mask;
        }
    }
}

TEST_P(Normalize, ReductionsOfNothingAndOfNaN) {
    const Floats none;
    EXPECT_EQ(run_op(options(), BP_OP_reduce_sum, {operand({2, 0}, none)}, {2, 1}, {list(BP_ATTR_axes, {1})}),
              (Floats{0, 0}));
    // Of nothing there is no largest: the op's rule refuses it, here as in the host.
    EXPECT_THROW(run_op(options(), BP_OP_reduce_max, {operand({2, 0}, none)}, {2, 1}, {list(BP_ATTR_axes, {1})}),
                 std::exception);
    for (const int64_t place : {0, 3, 40, 76}) {
        Floats x = random_floats(77, 1);
        x[static_cast<size_t>(place)] = kNaN;
        for (const uint32_t op : {BP_OP_reduce_max, BP_OP_reduce_min, BP_OP_reduce_sum})
            EXPECT_TRUE(std::isnan(run_op(options(), op, {operand({77}, x)}, {1})[0])) << op << " at " << place;
    }
}

TEST_P(Normalize, ResultsDoNotDependOnTheNumberOfThreads) {
    const Dims dims = {2, 48, 60, 50};
    const Floats x = random_floats(count(dims), 1);
    auto both = [&](uint32_t op, const Dims& out, const std::vector<Attribute>& attributes) {
        const Floats one = run_op(options("1"), op, {operand(dims, x)}, out, attributes);
        for (const char* threads : {"2", "5"})
            EXPECT_EQ(one, run_op(options(threads), op, {operand(dims, x)}, out, attributes)) << op;
    };
    both(BP_OP_reduce_sum, {1, 1, 1, 1}, {});
    both(BP_OP_reduce_mean, {2, 48, 1, 1}, {list(BP_ATTR_axes, {2, 3})});
    both(BP_OP_reduce_sum, {2, 1, 60, 50}, {list(BP_ATTR_axes, {1})});
    both(BP_OP_group_norm, dims, {integer(BP_ATTR_groups, 4)});
    both(BP_OP_layer_norm, dims, {integer(BP_ATTR_axis, 1)});
    both(BP_OP_softmax, dims, {integer(BP_ATTR_axis, 1)});
    both(BP_OP_gelu, dims, {});
}
