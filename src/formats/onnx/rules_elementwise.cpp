// Operators that compute each element by itself.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "formats/onnx/call.hpp"

namespace backplane::formats {
namespace {

void identity(OnnxCall& call) { call.result(call.reshaped(call.in(0), call.shape(0))); }

// Comparisons and remainders of small whole numbers are those of i32: nothing of them leaves the small type.
DType computed_as(DType dtype) {
    const bool small = dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i16 || dtype == DType::u16;
    return small ? DType::i32 : dtype;
}

// Of any number of operands, one after the other.
void folded(OnnxCall& call) {
    const bool orders = call.node.op == "Max" || call.node.op == "Min";
    const Op op = orders ? op_from_name(call.node.op) : Op::add;
    const DType dtype = orders ? computed_as(call.dtype(0)) : call.dtype(0);
    TensorId result = call.as(call.in(0), dtype);
    if (call.inputs() == 1) result = call.reshaped(result, call.shape(0));
    for (size_t i = 1; i < call.inputs(); ++i) result = call.add(op, {result, call.as(call.in(i), dtype)});
    if (call.node.op == "Mean") result = call.add(Op::div, {result, call.scalar(static_cast<double>(call.inputs()), dtype)});
    call.result(call.as(result, call.dtype(0)));
}

void mod(OnnxCall& call) {
    const DType dtype = computed_as(call.dtype(0));
    const TensorId left =
        call.add(Op::mod, {call.as(call.in(0), dtype), call.as(call.in(1), dtype)}, {{Attr::fmod, call.integer("fmod", 0)}});
    call.result(call.as(left, call.dtype(0)));
}

void cast(OnnxCall& call) {
    for (const char* of_small_floats : {"saturate", "round_mode"}) static_cast<void>(call.attribute(of_small_floats));
    if (call.node.op == "CastLike" && call.dtype(1) == DType::unknown) call.refuse("to a type that graphs do not have");
    const DType to = call.node.op == "CastLike" ? call.dtype(1) : dtype_of_onnx(call.integer("to", 0));
    if (to == DType::unknown) call.refuse("to a type that graphs do not have");
    call.result(call.add(Op::cast, {call.in(0)}, {{Attr::to, static_cast<int64_t>(to)}}));
}

void clip(OnnxCall& call) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const bool operands = call.opset >= 11;
    const double least = operands && call.given(1) ? call.one_number(1) : call.number("min", -kInfinity);
    const double most = operands && call.given(2) ? call.one_number(2) : call.number("max", kInfinity);
    const TensorId x = call.as(call.in(0), computed_as(call.dtype(0)));
    call.result(call.as(call.add(Op::clip, {x}, {{Attr::least, least}, {Attr::most, most}}), call.dtype(0)));
}

bool is_whole(DType dtype) { return dtype == DType::i64 || computed_as(dtype) == DType::i32; }

// Sums, differences, products and quotients; those of small whole numbers wrap as they do in their own type.
void arithmetic(OnnxCall& call) {
    const DType dtype = call.dtype(0), wide = computed_as(dtype);
    if (wide == dtype) return onnx_same(call);
    call.result(
        call.as(call.add(op_from_name(call.node.op), {call.as(call.in(0), wide), call.as(call.in(1), wide)}), dtype));
}

// The result is of the base's type. Powers of whole numbers are exact where the exponent is whole, too; others truncate what float32 has of them, which
// may lie a little below a whole number that it should be.
void pow(OnnxCall& call) {
    const DType dtype = call.dtype(0);
    if (!is_whole(dtype)) {
        const bool square =
            call.is_constant(1) && elements(call.shape(1)) == 1 && call.rank(1) <= call.rank(0) && call.one_number(1) == 2;
        if (square) return call.result(call.add(Op::mul, {call.in(0), call.in(0)}));
        return call.result(call.add(Op::pow, {call.in(0), call.as(call.in(1), dtype)}));
    }
    const DType wide = dtype == call.dtype(1) ? dtype : DType::i64;
    const auto whole_power = [&] {
        return call.as(call.add(Op::pow, {call.as(call.in(0), wide), call.as(call.in(1), wide)}), dtype);
    };
    if (is_whole(call.dtype(1))) return call.result(whole_power());
    const TensorId exponent = call.as(call.in(1), DType::f32);
    const TensorId power = call.add(Op::pow, {call.as(call.in(0), DType::f32), exponent});
    const TensorId truncated = call.as(call.add(Op::mul, {power, call.scalar(1 + 0x1p-20, DType::f32)}), dtype);
    const TensorId is_exact = call.add(Op::equal, {call.add(Op::floor, {exponent}), exponent});
    call.result(call.add(Op::where, {is_exact, whole_power(), truncated}));
}

void gelu(OnnxCall& call) {
    call.result(call.add(Op::gelu, {call.in(0)}, {{Attr::approximate, call.text("approximate", "none") == "tanh" ? 1 : 0}}));
}

// x * sigmoid(alpha * x)
void swish(OnnxCall& call) {
    const double alpha = call.number("alpha", 1);
    if (alpha == 1) return call.result(call.add(Op::silu, {call.in(0)}));
    const TensorId scaled = call.add(Op::mul, {call.in(0), call.scalar(alpha, call.dtype(0))});
    call.result(call.add(Op::mul, {call.in(0), call.add(Op::sigmoid, {scaled})}));
}

// celu(x) = max(x, 0) + min(0, alpha * (e^(x / alpha) - 1)) is alpha * elu(x / alpha).
void celu(OnnxCall& call) {
    const TensorId alpha = call.scalar(call.number("alpha", 1), call.dtype(0));
    const TensorId scaled = call.add(Op::elu, {call.add(Op::div, {call.in(0), alpha})});
    call.result(call.add(Op::mul, {scaled, alpha}));
}

// A function of what other ops are, on x and with constants of its type.
struct Terms {
    OnnxCall& call;
    TensorId x = call.in(0);
    DType dtype = call.dtype(0);
    [[nodiscard]] TensorId number(double value) const { return call.scalar(value, dtype); }
    [[nodiscard]] TensorId of(Op op, TensorId a) const { return call.add(op, {a}); }
    [[nodiscard]] TensorId of(Op op, TensorId a, TensorId b) const { return call.add(op, {a, b}); }
};

void softsign(OnnxCall& call) {
    const Terms t{call};
    call.result(t.of(Op::div, t.x, t.of(Op::add, t.of(Op::abs, t.x), t.number(1))));
}

void tangent(OnnxCall& call) {
    const Terms t{call};
    call.result(t.of(Op::div, t.of(Op::sin, t.x), t.of(Op::cos, t.x)));
}

// (e^x - e^-x) / 2, (e^x + e^-x) / 2
void hyperbolic(OnnxCall& call) {
    const Terms t{call};
    const Op between = call.node.op == "Sinh" ? Op::sub : Op::add;
    const TensorId sum = t.of(between, t.of(Op::exp, t.x), t.of(Op::exp, t.of(Op::neg, t.x)));
    call.result(t.of(Op::mul, sum, t.number(0.5)));
}

// Of x >= 0 (Cephes' atanf): what is left after turns of pi / 4 is small enough for four terms. Of float32's precision in every type.
TensorId arc_tangent(const Terms& t, TensorId x) {
    const TensorId one = t.number(1), far = t.of(Op::greater, x, t.number(2.414213562373095)),
                   near = t.of(Op::greater, x, t.number(0.4142135623730950));
    const auto choose = [&](TensorId when_far, TensorId when_near, TensorId else_) {
        return t.call.add(Op::where, {far, when_far, t.call.add(Op::where, {near, when_near, else_})});
    };
    const TensorId small =
        choose(t.of(Op::div, t.number(-1), x), t.of(Op::div, t.of(Op::sub, x, one), t.of(Op::add, x, one)), x);
    const TensorId before = choose(t.number(std::numbers::pi / 2), t.number(std::numbers::pi / 4), t.number(0));
    const TensorId square = t.of(Op::mul, small, small);
    TensorId sum = t.number(8.05374449538e-2);
    for (const double term : {-1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1})
        sum = t.of(Op::add, t.of(Op::mul, sum, square), t.number(term));
    sum = t.of(Op::add, t.of(Op::mul, t.of(Op::mul, sum, square), small), small);
    return t.of(Op::add, before, sum);
}

TensorId with_sign_of_x(const Terms& t, TensorId size) {
    return t.call.add(Op::where, {t.of(Op::less, t.x, t.number(0)), t.of(Op::neg, size), size});
}

void arcs(OnnxCall& call) {
    const Terms t{call};
    if (t.dtype != DType::f32) call.refuse(std::string("of ") + name_of(t.dtype));
    const TensorId one = t.number(1), size = t.of(Op::abs, t.x);
    const TensorId below = t.of(Op::sub, one, t.x), above = t.of(Op::add, one, t.x);
    if (call.node.op == "Atan") return call.result(with_sign_of_x(t, arc_tangent(t, size)));
    if (call.node.op == "Acos")
        return call.result(t.of(Op::mul, t.number(2), arc_tangent(t, t.of(Op::sqrt, t.of(Op::div, below, above)))));
    const TensorId cosine = t.of(Op::sqrt, t.of(Op::mul, below, above));
    call.result(with_sign_of_x(t, arc_tangent(t, t.of(Op::div, size, cosine))));
}

// By logarithms; next to 0, where those lose digits, by their series.
void hyperbolic_arcs(OnnxCall& call) {
    const Terms t{call};
    const TensorId one = t.number(1), size = t.of(Op::abs, t.x), square = t.of(Op::mul, t.x, t.x);
    if (call.node.op == "Acosh") {
        const TensorId root = t.of(Op::sqrt, t.of(Op::mul, t.of(Op::sub, t.x, one), t.of(Op::add, t.x, one)));
        return call.result(t.of(Op::log, t.of(Op::add, t.x, root)));
    }
    const bool sine = call.node.op == "Asinh";
    TensorId series = t.number(0);
    for (const double term :
         sine ? std::array{-15.0 / 336, 3.0 / 40, -1.0 / 6, 1.0} : std::array{1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0})
        series = t.of(Op::add, t.of(Op::mul, series, square), t.number(term));
    const TensorId by_log = sine ? t.of(Op::log, t.of(Op::add, size, t.of(Op::sqrt, t.of(Op::add, square, one))))
                                 : t.of(Op::mul, t.number(0.5),
                                        t.of(Op::log, t.of(Op::div, t.of(Op::add, one, size), t.of(Op::sub, one, size))));
    const TensorId near = t.of(Op::less, size, t.number(0.125));
    call.result(call.add(Op::where, {near, t.of(Op::mul, t.x, series), with_sign_of_x(t, by_log)}));
}

// As products with powers of two, and quotients by them, in i64; bits that leave the type are lost.
void shift(OnnxCall& call) {
    const DType dtype = call.dtype(0);
    const bool left = call.text("direction", "") == "LEFT";
    const auto bits = static_cast<double>(8 * bytes(dtype, {}));
    if (dtype != DType::u8 && dtype != DType::u16) call.refuse(std::string("of ") + name_of(dtype));
    const TensorId by = call.add(Op::clip, {call.as(call.in(1), DType::i64)}, {{Attr::least, 0.0}, {Attr::most, bits}});
    const TensorId power = call.add(Op::pow, {call.scalar(2, DType::i64), by});
    const TensorId x = call.as(call.in(0), DType::i64);
    call.result(call.as(call.add(left ? Op::mul : Op::div, {x, power}), dtype));
}

void thresholded_relu(OnnxCall& call) {
    const Terms t{call};
    const TensorId passes = t.of(Op::greater, t.x, t.number(call.number("alpha", 1)));
    call.result(call.add(Op::where, {passes, t.x, t.number(0)}));
}

void shrink(OnnxCall& call) {
    const Terms t{call};
    const double limit = call.number("lambd", 0.5);
    const TensorId bias = t.number(call.number("bias", 0));
    const TensorId above =
        call.add(Op::where, {t.of(Op::greater, t.x, t.number(limit)), t.of(Op::sub, t.x, bias), t.number(0)});
    call.result(call.add(Op::where, {t.of(Op::less, t.x, t.number(-limit)), t.of(Op::add, t.x, bias), above}));
}

constexpr OnnxRuleRow kElementwiseRules[] = {
    {"Abs", onnx_same},
    {"Neg", onnx_same},
    {"Exp", onnx_same},
    {"Log", onnx_same},
    {"Sqrt", onnx_same},
    {"Reciprocal", onnx_same},
    {"Erf", onnx_same},
    {"Sin", onnx_same},
    {"Cos", onnx_same},
    {"Relu", onnx_same},
    {"LeakyRelu", onnx_same},
    {"Sigmoid", onnx_same},
    {"Tanh", onnx_same},
    {"Softplus", onnx_same},
    {"Floor", onnx_same},
    {"Ceil", onnx_same},
    {"Round", onnx_same},
    {"Sign", onnx_same},
    {"Elu", onnx_same},
    {"Selu", onnx_same},
    {"HardSigmoid", onnx_same},
    {"HardSwish", onnx_same},
    {"Mish", onnx_same},
    {"IsNaN", onnx_same},
    {"IsInf", onnx_same},
    {"Not", onnx_same},
    {"Add", arithmetic},
    {"Sub", arithmetic},
    {"Mul", arithmetic},
    {"Div", arithmetic},
    {"Mod", mod},
    {"PRelu", onnx_same},
    {"Equal", onnx_same},
    {"Less", onnx_same},
    {"LessOrEqual", onnx_same},
    {"Greater", onnx_same},
    {"And", onnx_same},
    {"Or", onnx_same},
    {"GreaterOrEqual", onnx_same},
    {"Xor", onnx_same},
    {"Where", onnx_same},
    {"Identity", identity},
    {"Max", folded},
    {"Min", folded},
    {"Sum", folded},
    {"Mean", folded},
    {"Cast", cast},
    {"CastLike", cast},
    {"Clip", clip},
    {"Pow", pow},
    {"Gelu", gelu},
    {"Celu", celu},
    {"Swish", swish},
    {"Softsign", softsign},
    {"Tan", tangent},
    {"Sinh", hyperbolic},
    {"Cosh", hyperbolic},
    {"Asin", arcs},
    {"Acos", arcs},
    {"Atan", arcs},
    {"Asinh", hyperbolic_arcs},
    {"Acosh", hyperbolic_arcs},
    {"Atanh", hyperbolic_arcs},
    {"BitShift", shift},
    {"ThresholdedRelu", thresholded_relu},
    {"Shrink", shrink},
};

}  // namespace

std::span<const OnnxRuleRow> onnx_rules_elementwise() { return kElementwiseRules; }

}  // namespace backplane::formats
