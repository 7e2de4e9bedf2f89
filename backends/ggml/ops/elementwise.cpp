// Element-wise ops, in float32.
#include <algorithm>
#include <limits>
#include <numbers>

#include "lowering.hpp"

namespace backplane::ggml {

namespace {

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Releases before 0.25 clamp in place.
Tensor* clamp(Lowering& l, Tensor* x, float least, float most) {
    Tensor* y = l.base().clamp(l.context(), x, least, most);
    return y->view_src == nullptr ? y : l.base().clamp(l.context(), l.base().cont(l.context(), x), least, most);
}

// ggml's choices by comparison (relu, clamp) turn a NaN into a number. 0 / (1 + x^2) is 0, or NaN where x is.
Tensor* with_nan(Lowering& l, Tensor* y, Tensor* x) {
    if (l.native()) return y;
    const BaseLibrary& g = l.base();
    Tensor* denominator = g.scale_bias(l.context(), g.sqr(l.context(), x), 1.0F, 1.0F);
    return g.add(l.context(), y, g.div(l.context(), g.fill(l.context(), x, 0.0F), denominator));
}

// x, but no -infinity, so that a product with 0 is a number. A NaN becomes an infinity or stays: times 0 it is NaN again.
Tensor* bounded_below(Lowering& l, Tensor* x) { return clamp(l, x, -kLargest, kInfinity); }

Tensor* relu(Lowering& l, Tensor* x) {
    return l.base().mul(l.context(), bounded_below(l, x), l.base().step(l.context(), x));
}

// x times 1 or alpha.
Tensor* leaky_relu(Lowering& l, Tensor* x, double alpha) {
    if (l.native()) return l.base().leaky_relu(l.context(), x, static_cast<float>(alpha), false);
    if (alpha == 0) return relu(l, x);
    Tensor* slope = l.base().scale_bias(l.context(), l.base().step(l.context(), x), static_cast<float>(1 - alpha),
                                        static_cast<float>(alpha));
    return l.base().mul(l.context(), x, slope);
}

Tensor* gelu(Lowering& l, Tensor* x) {
    if (l.native()) return l.base().gelu_erf(l.context(), x);
    return with_nan(l, l.base().gelu_erf(l.context(), bounded_below(l, x)), x);
}

// x * sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)), which is the tanh form; ggml's own looks it up in a table of half-precision values.
Tensor* gelu_tanh(Lowering& l, Tensor* x) {
    const BaseLibrary& g = l.base();
    if (l.native()) return g.gelu(l.context(), x);
    constexpr double kFactor = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    Tensor* factor = g.scale_bias(l.context(), g.sqr(l.context(), x), static_cast<float>(kFactor * 0.044715),
                                  static_cast<float>(kFactor));
    return g.mul(l.context(), bounded_below(l, x), g.sigmoid(l.context(), g.mul(l.context(), x, factor)));
}

Tensor* clip(Lowering& l, const Node& node, Tensor* x) {
    const auto bounds = node.as<backplane::ops::ClipAttributes>();
    const auto most = static_cast<float>(bounds.most);
    const auto least = std::min(static_cast<float>(bounds.least), most);
    return with_nan(l, clamp(l, x, least, most), x);
}

Tensor* function(Lowering& l, const Node& node, Tensor* x) {
    const BaseLibrary& g = l.base();
    Context* c = l.context();
    switch (node.op) {
        case BP_OP_abs: return g.abs(c, x);
        case BP_OP_neg: return g.neg(c, x);
        case BP_OP_exp: return g.exp(c, x);
        case BP_OP_log: return g.log(c, x);
        case BP_OP_sqrt: return g.sqrt(c, x);
        case BP_OP_reciprocal: return g.div(c, g.fill(c, x, 1.0F), x);
        case BP_OP_sin: return g.sin(c, x);
        case BP_OP_cos: return g.cos(c, x);
        case BP_OP_relu: return relu(l, x);
        case BP_OP_leaky_relu:
            return leaky_relu(l, x, static_cast<float>(node.as<backplane::ops::LeakyReluAttributes>().alpha));
        case BP_OP_sigmoid: return g.sigmoid(c, x);
        case BP_OP_tanh: return g.tanh(c, x);
        case BP_OP_gelu: return node.as<backplane::ops::GeluAttributes>().approximate ? gelu_tanh(l, x) : gelu(l, x);
        case BP_OP_silu: return g.silu(c, x);
        case BP_OP_softplus: return g.softplus(c, x);
        case BP_OP_clip: return clip(l, node, x);
        default: throw Refusal{BP_WHY_OP, "ggml has no such function"};
    }
}

}  // namespace

void lower_unary(Lowering& l, const Node& node) {
    if (!is_float(l.dtype(node.inputs[0]))) throw Refusal{BP_WHY_DTYPE, "ggml computes with floats only"};
    l.set(node, function(l, node, l.float_input(node, 0)));
}

void lower_binary(Lowering& l, const Node& node) {
    const uint32_t a = node.inputs[0];
    const uint32_t b = node.inputs[1];
    const uint32_t out = node.output;
    if (!is_float(l.dtype(a)) || !is_float(l.dtype(b))) throw Refusal{BP_WHY_DTYPE, "ggml computes with floats only"};
    const std::vector<Shape> shapes = broadcast_to_four({l.shape(a), l.shape(b)}, l.shape(out));
    if (shapes.empty()) throw Refusal{BP_WHY_SHAPE, "it broadcasts over more than four axes"};
    const BaseLibrary& g = l.base();
    Context* c = l.context();
    Tensor* x = l.shaped(l.float_value(a), shapes[0]);
    Tensor* y = l.shaped(l.float_value(b), shapes[1]);
    const Shape& r = shapes[2];
    // ggml repeats the second operand only.
    if ((node.op == BP_OP_add || node.op == BP_OP_mul) && shapes[0] != r && shapes[1] == r) {
        std::swap(x, y);
    } else if (shapes[0] != r) {
        x = g.repeat_4d(c, x, r[3], r[2], r[1], r[0]);
    }
    switch (node.op) {
        case BP_OP_add: return l.set(node, g.add(c, x, y));
        case BP_OP_sub: return l.set(node, g.sub(c, x, y));
        case BP_OP_mul: return l.set(node, g.mul(c, x, y));
        default: return l.set(node, g.div(c, x, y));
    }
}

}  // namespace backplane::ggml
