// Element-wise ops on f64, each by the formula that keeps its digits on both sides of 0.
#include <cmath>
#include <numbers>

#include "common/elementwise.hpp"
#include "ops/doubles.hpp"
#include "ops/table.hpp"
#include "ops/walk.hpp"

namespace backplane::cpu {

namespace {

template <double (*function)(double x, double y)>
void binary(const double* x, int64_t x_step, const double* y, int64_t y_step, double* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = function(x[i * x_step], y[i * y_step]);
}

double add(double x, double y) { return x + y; }
double subtract(double x, double y) { return x - y; }
double multiply(double x, double y) { return x * y; }
double divide(double x, double y) { return x / y; }
double power(double x, double y) { return std::pow(x, y); }
double larger(double x, double y) { return x > y || std::isnan(x) ? x : y; }
double smaller(double x, double y) { return x < y || std::isnan(x) ? x : y; }
double rest(double x, double y) { return std::fmod(x, y); }
double sloped(double x, double slope) { return x < 0 ? slope * x : x; }

}  // namespace

DoubleBinary find_double_binary(uint32_t op) {
    switch (op) {
        case BP_OP_add: return binary<add>;
        case BP_OP_sub: return binary<subtract>;
        case BP_OP_mul: return binary<multiply>;
        case BP_OP_div: return binary<divide>;
        case BP_OP_pow: return binary<power>;
        case BP_OP_max: return binary<larger>;
        case BP_OP_min: return binary<smaller>;
        case BP_OP_mod: return binary<rest>;  // of floats there is no other
        case BP_OP_p_relu: return binary<sloped>;
        default: return nullptr;
    }
}

namespace ops::doubles_elementwise {

namespace {

// What an op's attributes say.
struct Numbers {
    double a = 0, b = 0;
};
using Unary = void (*)(const double* x, double* out, int64_t n, Numbers how);

template <double (*function)(double x, Numbers how)>
void unary(const double* x, double* out, int64_t n, Numbers how) {
    for (int64_t i = 0; i < n; ++i) out[i] = function(x[i], how);
}
template <double (*function)(double x)>
void unary(const double* x, double* out, int64_t n, Numbers /*how*/) {
    for (int64_t i = 0; i < n; ++i) out[i] = function(x[i]);
}

double absolute(double x) { return std::fabs(x); }
double negated(double x) { return -x; }
double exponential(double x) { return std::exp(x); }
double logarithm(double x) { return std::log(x); }
double root(double x) { return std::sqrt(x); }
double reciprocal(double x) { return 1.0 / x; }
double error_function(double x) { return std::erf(x); }
double sine(double x) { return std::sin(x); }
double cosine(double x) { return std::cos(x); }
double hyperbolic_tangent(double x) { return std::tanh(x); }
double floor_of(double x) { return std::floor(x); }
double ceiling_of(double x) { return std::ceil(x); }
double rounded(double x) { return std::nearbyint(x); }
double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : std::isnan(x) ? x : 0; }
double rectified(double x) { return x < 0 ? 0.0 : x; }

// e of a negative number only: no overflow on either side.
double sigmoid(double x) {
    const double e = std::exp(-std::fabs(x));
    return x >= 0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}
double silu(double x) {
    const double e = std::exp(-std::fabs(x));
    if (x >= 0) return x / (1.0 + e);
    return e == 0 ? -0.0 : x * e / (1.0 + e);  // where e is 0, x may be infinite
}
double softplus(double x) {
    if (std::isnan(x)) return x;
    return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}
double mish(double x) {
    if (std::isinf(x)) return x > 0 ? x : -0.0;  // the formula gives 0 * infinity on the left
    return x * std::tanh(softplus(x));
}
double hard_swish(double x) {
    if (x <= -3) return -0.0;
    return x >= 3 ? x : x * (x + 3) / 6;
}
double gelu(double x, Numbers by_tanh) {
    if (std::isinf(x)) return x > 0 ? x : -0.0;
    // erfc keeps the digits that 1 + erf loses on the left, and so does a sigmoid those of (1 + tanh t) / 2.
    if (by_tanh.a == 0) return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
    const double t = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    return x / (1.0 + std::exp(-2.0 * t));
}
double leaky(double x, Numbers how) { return x < 0 ? how.a * x : x; }
double elu(double x, Numbers how) { return x < 0 ? how.a * std::expm1(x) : x; }
double selu(double x, Numbers how) { return how.b * elu(x, how); }
double hard_sigmoid(double x, Numbers how) {
    const double y = how.a * x + how.b;
    return y < 0 ? 0 : y > 1 ? 1 : y;
}
double clipped(double x, Numbers how) {
    const double raised = x < how.a ? how.a : x;
    return raised > how.b ? how.b : raised;
}

Unary find_unary(uint32_t op) {
    switch (op) {
        case BP_OP_abs: return unary<absolute>;
        case BP_OP_neg: return unary<negated>;
        case BP_OP_exp: return unary<exponential>;
        case BP_OP_log: return unary<logarithm>;
        case BP_OP_sqrt: return unary<root>;
        case BP_OP_reciprocal: return unary<reciprocal>;
        case BP_OP_erf: return unary<error_function>;
        case BP_OP_sin: return unary<sine>;
        case BP_OP_cos: return unary<cosine>;
        case BP_OP_tanh: return unary<hyperbolic_tangent>;
        case BP_OP_floor: return unary<floor_of>;
        case BP_OP_ceil: return unary<ceiling_of>;
        case BP_OP_round: return unary<rounded>;
        case BP_OP_sign: return unary<sign_of>;
        case BP_OP_relu: return unary<rectified>;
        case BP_OP_sigmoid: return unary<sigmoid>;
        case BP_OP_silu: return unary<silu>;
        case BP_OP_softplus: return unary<softplus>;
        case BP_OP_mish: return unary<mish>;
        case BP_OP_hard_swish: return unary<hard_swish>;
        case BP_OP_gelu: return unary<gelu>;
        case BP_OP_leaky_relu: return unary<leaky>;
        case BP_OP_elu: return unary<elu>;
        case BP_OP_selu: return unary<selu>;
        case BP_OP_hard_sigmoid: return unary<hard_sigmoid>;
        case BP_OP_clip: return unary<clipped>;
        default: return nullptr;
    }
}

// In float64, where backend::function_post rounds them to float32.
Numbers numbers_of(const Node& node) {
    switch (node.op) {
        case BP_OP_gelu: return {node.as<backplane::ops::GeluAttributes>().approximate ? 1.0 : 0.0};
        case BP_OP_leaky_relu: return {node.as<backplane::ops::LeakyReluAttributes>().alpha};
        case BP_OP_elu: return {node.as<backplane::ops::EluAttributes>().alpha};
        case BP_OP_selu: {
            const auto how = node.as<backplane::ops::SeluAttributes>();
            return {how.alpha, how.gamma};
        }
        case BP_OP_hard_sigmoid: {
            const auto how = node.as<backplane::ops::HardSigmoidAttributes>();
            return {how.alpha, how.beta};
        }
        case BP_OP_clip: {
            const auto how = node.as<backplane::ops::ClipAttributes>();
            return {how.least, how.most};
        }
        default: return {};
    }
}

void lower_unary(Lowering& to, const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId out = node.output;
    const int64_t n = to[out].elements();
    if (n == 0) return;
    const Unary function = find_unary(node.op);
    if (function == nullptr) throw sdk::Failure(BP_INTERNAL, node.text() + ": this build has no function for it");
    Step& added = to.step(step_label(to, node), {in}, {out}, [=, how = numbers_of(node)](const Run& run) {
        run.ranges(n, kGrainElements / 4, [&](int64_t begin, int64_t end) {
            function(run.at<double>(in) + begin, run.at<double>(out) + begin, end - begin, how);
        });
    });
    added.alone = true;
}

void lower_binary(Lowering& to, const Node& node) {
    const ValueId x = node.inputs[0];
    const ValueId y = node.inputs[1];
    const ValueId out = node.output;
    if (to[out].elements() == 0) return;
    const DoubleBinary function = find_double_binary(node.op);
    if (function == nullptr) throw sdk::Failure(BP_INTERNAL, node.text() + ": this build has no function for it");
    const auto nest = nest_of(to, out, x, y);
    const int64_t x_step = nest.stride[1].back();
    const int64_t y_step = nest.stride[2].back();
    Step& added = to.step(step_label(to, node), {x, y}, {out}, [=](const Run& run) {
        for_each_stretch(run, nest, [&](const auto& at, int64_t n) {
            function(run.at<double>(x) + at[1], x_step, run.at<double>(y) + at[2], y_step, run.at<double>(out) + at[0], n);
        });
    });
    added.alone = true;
}

constexpr OpLowering unary_row(uint32_t op) { return in_doubles(op, lower_unary); }
constexpr OpLowering binary_row(uint32_t op) { return in_doubles(op, lower_binary); }

constexpr auto table = backend::elementwise_rows<OpLowering>(unary_row, binary_row);

}  // namespace

const OpFamily ops_doubles_elementwise = {table.data(), table.size()};

}  // namespace ops::doubles_elementwise

}  // namespace backplane::cpu
