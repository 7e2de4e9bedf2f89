// Descriptions of ops that work element by element.
#pragma once

#include <cmath>
#include <limits>

#include "backplane/ops/description.hpp"

namespace backplane::ops {

constexpr void broadcast_shape(const Call& call, Outputs out) { out[0].dims = broadcast(call, call.dims(0), call.dims(1)); }

// y has the element type and shape of x.
template <class A = None>
constexpr DescriptionOf<A> unary(uint32_t id, const char* summary, Types types = kFloats,
                                 Few<AttributeRule, 8> attributes = {}, ShapeRule shape = same_shape) {
    return describe<A>({.id = id,
                        .summary = summary,
                        .shapes = "x -> y alike",
                        .inputs = {{"x", one_of(types)}},
                        .outputs = {{"y", like(0)}},
                        .elementwise = true,
                        .attributes = attributes,
                        .shape = shape});
}
constexpr DescriptionOf<None> binary(uint32_t id, const char* summary, Types types = kNumbers) {
    return describe<None>({.id = id,
                           .summary = summary,
                           .shapes = "a, b -> y, broadcast as numpy's",
                           .inputs = {{"a", one_of(types)}, {"b", like(0)}},
                           .outputs = {{"y", like(0)}},
                           .elementwise = true,
                           .shape = broadcast_shape});
}

inline constexpr auto op_abs = unary(BP_OP_abs, "y = |x|", kNumbers);
inline constexpr auto op_neg = unary(BP_OP_neg, "y = -x", kNumbers);
inline constexpr auto op_exp = unary(BP_OP_exp, "y = e^x");
inline constexpr auto op_log = unary(BP_OP_log, "y = ln x; -infinity at 0, NaN below");
inline constexpr auto op_sqrt = unary(BP_OP_sqrt, "y = square root of x; NaN below 0");
inline constexpr auto op_reciprocal = unary(BP_OP_reciprocal, "y = 1 / x; infinity with the sign of x at 0");
inline constexpr auto op_erf = unary(BP_OP_erf, "y = 2 / sqrt(pi) * integral of e^(-t^2) for t from 0 to x");
inline constexpr auto op_sin = unary(BP_OP_sin, "y = sin x, x in radians");
inline constexpr auto op_cos = unary(BP_OP_cos, "y = cos x, x in radians");
inline constexpr auto op_relu = unary(BP_OP_relu, "y = max(x, 0); NaN stays NaN");
inline constexpr auto op_sigmoid = unary(BP_OP_sigmoid, "y = 1 / (1 + e^-x)");
inline constexpr auto op_tanh = unary(BP_OP_tanh, "y = tanh x");
inline constexpr auto op_silu = unary(BP_OP_silu, "y = x / (1 + e^-x)");
inline constexpr auto op_softplus = unary(BP_OP_softplus, "y = ln(1 + e^x)");

struct LeakyReluAttributes {
    double alpha = 0.01;
};
inline constexpr auto op_leaky_relu = unary<LeakyReluAttributes>(
    BP_OP_leaky_relu, "y = x for x >= 0, alpha * x below", kFloats, {attribute<&LeakyReluAttributes::alpha>(BP_ATTR_alpha)});

struct GeluAttributes {
    bool approximate = false;  // the form with tanh
};
inline constexpr auto op_gelu = unary<GeluAttributes>(BP_OP_gelu, "y = x * P(normal <= x); approximate: by tanh", kFloats,
                                                      {attribute<&GeluAttributes::approximate>(BP_ATTR_approximate)});

inline constexpr auto op_floor = unary(BP_OP_floor, "y = the largest whole number that is at most x");
inline constexpr auto op_ceil = unary(BP_OP_ceil, "y = the smallest whole number that is at least x");
inline constexpr auto op_round = unary(BP_OP_round, "y = the whole number next to x, of two the even one");
inline constexpr auto op_sign = unary(BP_OP_sign, "y = -1, 0 or 1; NaN stays NaN");

struct EluAttributes {
    double alpha = 1.0;
};
inline constexpr auto op_elu = unary<EluAttributes>(BP_OP_elu, "y = x for x >= 0, alpha * (e^x - 1) below", kFloats,
                                                    {attribute<&EluAttributes::alpha>(BP_ATTR_alpha)});

struct SeluAttributes {  // mean 0 and variance 1 stay so: arXiv:1706.02515, rounded to float32 as ONNX has them
    double alpha = 1.67326319217681884765625;
    double gamma = 1.05070102214813232421875;
};
inline constexpr auto op_selu = unary<SeluAttributes>(
    BP_OP_selu, "y = gamma * x for x >= 0, gamma * alpha * (e^x - 1) below", kFloats,
    {attribute<&SeluAttributes::alpha>(BP_ATTR_alpha), attribute<&SeluAttributes::gamma>(BP_ATTR_gamma)});

struct HardSigmoidAttributes {
    double alpha = 0.2;
    double beta = 0.5;
};
inline constexpr auto op_hard_sigmoid = unary<HardSigmoidAttributes>(
    BP_OP_hard_sigmoid, "y = min(max(alpha * x + beta, 0), 1)", kFloats,
    {attribute<&HardSigmoidAttributes::alpha>(BP_ATTR_alpha), attribute<&HardSigmoidAttributes::beta>(BP_ATTR_beta)});

inline constexpr auto op_hard_swish = unary(BP_OP_hard_swish, "y = x * min(max(x / 6 + 1 / 2, 0), 1); 0 at -infinity");
inline constexpr auto op_mish = unary(BP_OP_mish, "y = x * tanh(ln(1 + e^x)); 0 at -infinity");

struct ClipAttributes {
    double least = -std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
};
inline void clip_shape(const Call& call, Outputs out) {
    const auto& a = call.as<ClipAttributes>();
    require_attribute(!std::isnan(a.least) && !std::isnan(a.most),
                      [] { return "attributes least and most must not be NaN"; });
    same_shape(call, out);
}
inline constexpr auto op_clip = unary<ClipAttributes>(
    BP_OP_clip, "y = min(max(x, least), most)", kNumbers,
    {attribute<&ClipAttributes::least>(BP_ATTR_least), attribute<&ClipAttributes::most>(BP_ATTR_most)}, clip_shape);

inline constexpr auto op_add = binary(BP_OP_add, "y = a + b");
inline constexpr auto op_sub = binary(BP_OP_sub, "y = a - b");
inline constexpr auto op_mul = binary(BP_OP_mul, "y = a * b");
inline constexpr auto op_div = binary(BP_OP_div, "y = a / b; of integers truncated, by 0 gives 0");
inline constexpr auto op_pow = binary(
    BP_OP_pow, "y = a to the power b, as C's pow; of integers b below 0 gives what 1 / a^-b truncates to, 0 for a = 0");
inline constexpr auto op_max = binary(BP_OP_max, "y = the larger of a and b; NaN in either gives NaN");
inline constexpr auto op_min = binary(BP_OP_min, "y = the smaller of a and b; NaN in either gives NaN");

struct ModAttributes {
    bool fmod = false;  // the sign of a, as C's fmod; else that of b, of whole numbers only
};
inline void mod_shape(const Call& call, Outputs out) {
    require_attribute(call.as<ModAttributes>().fmod || (type(call.dtype(0)) & kWhole) != 0,
                      [&] { return "takes floats with the attribute fmod = 1 only, not " + call.typed_text(0); });
    broadcast_shape(call, out);
}
inline constexpr auto op_mod = describe<ModAttributes>(
    {.id = BP_OP_mod,
     .summary = "y = what a / b leaves, with the sign of b, or with fmod of a; of integers 0 where b is 0",
     .shapes = "a, b -> y, broadcast as numpy's",
     .inputs = {{"a", one_of(kNumbers)}, {"b", like(0)}},
     .outputs = {{"y", like(0)}},
     .elementwise = true,
     .attributes = {attribute<&ModAttributes::fmod>(BP_ATTR_fmod)},
     .shape = mod_shape});

constexpr void p_relu_shape(const Call& call, Outputs out) {
    broadcast_shape(call, out);
    require(out[0].dims == call.dims(0), [&] { return call.text(1) + " does not broadcast to " + call.text(0); });
}
inline constexpr auto op_p_relu = describe<None>({.id = BP_OP_p_relu,
                                                  .summary = "y = x for x >= 0, slope * x below",
                                                  .shapes = "x, slope -> y of x's shape, to which slope broadcasts",
                                                  .inputs = {{"x", one_of(kNumbers)}, {"slope", like(0)}},
                                                  .outputs = {{"y", like(0)}},
                                                  .elementwise = true,
                                                  .shape = p_relu_shape});

}  // namespace backplane::ops
