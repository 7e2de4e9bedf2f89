#include <functional>
#include <numbers>

#include "run_op.hpp"

using namespace harness;

class Functions : public PerLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, Functions, testing::ValuesIn(masks()));

namespace {

// All magnitudes from subnormal to largest, both signs, and the special values.
Floats every_magnitude() {
    Floats out = {0.0f,     -0.0f,  1.0f,   -1.0f,   kInfinity, -kInfinity, kNaN,
                  88.7228f, 88.73f, -87.4f, -103.9f, -104.5f,   1e30f,      -1e30f};
    for (uint32_t bits = 1; bits < 0x7f800000u; bits += 104729) {
        float v = 0;
        std::memcpy(&v, &bits, sizeof v);
        out.push_back(v);
        out.push_back(-v);
    }
    for (const float v : random_floats(4000, 1, 12.0f)) out.push_back(v);
    return out;
}

struct Case {
    uint32_t op;
    std::function<double(double)> want;
    double relative = 1e-6, absolute = 2e-38;
    std::vector<Attribute> attributes = {};
    double of_operand = 0;  // allowed error as a fraction of |x|
};

double gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
double gelu_tanh(double x) {
    const double s = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    return x / (1 + std::exp(-2 * s));
}
double mish(double x) {
    return std::isinf(x) && x < 0 ? -0.0 : x * std::tanh(std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))));
}

}  // namespace

TEST_P(Functions, AreAccurateOverAllMagnitudes) {
    const std::vector<Case> cases = {
        {BP_OP_exp, [](double x) { return std::exp(x); }},
        {BP_OP_log, [](double x) { return std::log(x); }, 1e-6, 1e-7},
        {BP_OP_sqrt, [](double x) { return std::sqrt(x); }},
        {BP_OP_reciprocal, [](double x) { return 1 / x; }},
        {BP_OP_erf, [](double x) { return std::erf(x); }},
        {BP_OP_tanh, [](double x) { return std::tanh(x); }},
        {BP_OP_sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
        {BP_OP_softplus, [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))) + (x - x) * 0; }},
        {BP_OP_sin, [](double x) { return std::sin(x); }, 1e-6, 1e-7},
        {BP_OP_cos, [](double x) { return std::cos(x); }, 1e-6, 1e-7},
        // Within rounding errors of x, not of the small results on the left: see the conformance table.
        {BP_OP_gelu, gelu, 1e-6, 0, {}, 4e-7},
        {BP_OP_gelu, gelu_tanh, 3e-5, 1e-9, {integer(BP_ATTR_approximate, 1)}},
        {BP_OP_floor, [](double x) { return std::floor(x); }, 0, 0},
        {BP_OP_round, [](double x) { return std::nearbyint(x); }, 0, 0},
        {BP_OP_elu, [](double x) { return x < 0 ? std::expm1(x) : x; }},
        {BP_OP_mish, mish, 1e-6, 0, {}, 4e-7},
        {BP_OP_silu, [](double x) { return x / (1 + std::exp(-x)); }, 1e-6, 1e-30},
    };
    const Floats x = every_magnitude();
    const auto n = static_cast<int64_t>(x.size());
    for (const Case& c : cases) {
        const Floats got = run_op(options(), c.op, {operand({n}, x)}, {n}, c.attributes);
        int shown = 0;
        for (size_t i = 0; i < x.size(); ++i) {
            const bool infinite = std::isinf(x[i]);
            if (infinite && (c.op == BP_OP_gelu || c.op == BP_OP_silu || c.op == BP_OP_softplus)) continue;  // below
            const auto want = static_cast<float>(c.want(x[i]));
            if (!same(got[i], want, c.relative, c.absolute + c.of_operand * std::fabs(x[i])) && ++shown < 8)
                ADD_FAILURE() << "op " << c.op << " of " << x[i] << ": " << got[i] << ", should be " << want;
        }
    }
}

TEST_P(Functions, SpecialValuesAreThoseOfMathematics) {
    const Floats x = {kInfinity, -kInfinity, kNaN, 0.0f, -2.0f};
    auto of = [&](uint32_t op) { return run_op(options(), op, {operand({5}, x)}, {5}); };
    EXPECT_EQ(of(BP_OP_exp)[0], kInfinity);
    EXPECT_EQ(of(BP_OP_exp)[1], 0.0f);
    EXPECT_EQ(of(BP_OP_log)[3], -kInfinity);
    EXPECT_TRUE(std::isnan(of(BP_OP_log)[4]));
    EXPECT_EQ(of(BP_OP_tanh)[1], -1.0f);
    EXPECT_EQ(of(BP_OP_softplus)[0], kInfinity);
    EXPECT_EQ(of(BP_OP_softplus)[1], 0.0f);
    for (const uint32_t op :
         {BP_OP_exp, BP_OP_log, BP_OP_erf, BP_OP_sin, BP_OP_cos, BP_OP_relu, BP_OP_leaky_relu, BP_OP_sigmoid, BP_OP_tanh,
          BP_OP_gelu, BP_OP_silu, BP_OP_softplus, BP_OP_clip, BP_OP_abs, BP_OP_neg})
        EXPECT_TRUE(std::isnan(of(op)[2])) << op;
}

TEST_P(Functions, PowIsThatOfC) {
    const Floats x = {-2, -2, -2, 0, 0, 4, 2, -8, kNaN, 1, -kInfinity, 3};
    const Floats y = {3, 2, 0.5f, -1, 0, 0.5f, -1, 1.0f / 3, 0, kNaN, 3, 2.5f};
    const Floats got = run_op(options(), BP_OP_pow, {operand({12}, x), operand({12}, y)}, {12});
    for (size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(same(got[i], std::pow(x[i], y[i]), 1e-6, 0)) << x[i] << " ^ " << y[i];
    for (const float e : {2.0f, 1.0f, -1.0f, 0.5f, 3.0f}) {
        const Floats same_exponent = run_op(options(), BP_OP_pow, {operand({12}, x), operand<float>({}, {e})}, {12});
        for (size_t i = 0; i < x.size(); ++i)
            EXPECT_TRUE(same(same_exponent[i], std::pow(x[i], e), 1e-6, 0)) << x[i] << " ^ " << e;
    }
}

TEST_P(Functions, MaxAndMinPassNaNOfEitherOperand) {
    const Floats x = {kNaN, 1, 2};
    const Floats y = {1, kNaN, 3};
    for (const uint32_t op : {BP_OP_max, BP_OP_min}) {
        const Floats got = run_op(options(), op, {operand({3}, x), operand({3}, y)}, {3});
        EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1]));
        EXPECT_EQ(got[2], op == BP_OP_max ? 3.0f : 2.0f);
    }
}

TEST_P(Functions, IntegersWrapTruncateAndNeverTrap) {
    using V = std::vector<int32_t>;
    const V x = {7, -7, INT32_MIN, 5, INT32_MAX};
    const V y = {2, 2, -1, 0, 1};
    auto of = [&](uint32_t op) {
        return run_op<int32_t>(options(), op, {operand({5}, x, BP_I32), operand({5}, y, BP_I32)}, {5}, {}, BP_I32);
    };
    EXPECT_EQ(of(BP_OP_div), (V{3, -3, INT32_MIN, 0, INT32_MAX}));
    EXPECT_EQ(of(BP_OP_add), (V{9, -5, INT32_MAX, 5, INT32_MIN}));
    EXPECT_EQ(of(BP_OP_max), (V{7, 2, -1, 5, INT32_MAX}));
    const std::vector<int64_t> wide = {-5, INT64_MIN, 9};
    EXPECT_EQ(
        run_op<int64_t>(options(), BP_OP_clip, {operand({3}, wide, BP_I64)}, {3}, {number(BP_ATTR_least, -2.5)}, BP_I64),
        (std::vector<int64_t>{-2, -2, 9}));
    EXPECT_EQ(run_op<int64_t>(options(), BP_OP_mul, {operand({3}, wide, BP_I64), operand<int64_t>({1}, {2}, BP_I64)}, {3},
                              {}, BP_I64),
              (std::vector<int64_t>{-10, 0, 18}));
}
