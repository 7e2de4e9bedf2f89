// Descriptions of ops that judge elements, and of Where, which picks by such a judgement.
#pragma once

#include "backplane/ops/elementwise.hpp"

namespace backplane::ops {

inline constexpr Types kTruth = type(BP_BOOL);

constexpr void truth_shape(const Call& call, Outputs out) { out[0] = {BP_BOOL, call.dims(0)}; }
constexpr void comparison_shape(const Call& call, Outputs out) {
    out[0].dtype = BP_BOOL;
    broadcast_shape(call, out);
}

template <class A = None>
constexpr DescriptionOf<A> judge(uint32_t id, const char* summary, Types types, Few<AttributeRule, 8> attributes = {}) {
    return describe<A>({.id = id,
                        .summary = summary,
                        .shapes = "x -> y of bool, of the same shape",
                        .inputs = {{"x", one_of(types)}},
                        .outputs = {{"y", {}}},
                        .elementwise = true,
                        .attributes = attributes,
                        .shape = truth_shape});
}
constexpr DescriptionOf<None> comparison(uint32_t id, const char* summary, Types types = kNumbers) {
    return describe<None>({.id = id,
                           .summary = summary,
                           .shapes = "a, b -> y of bool, broadcast as numpy's",
                           .inputs = {{"a", one_of(types)}, {"b", like(0)}},
                           .outputs = {{"y", {}}},
                           .elementwise = true,
                           .shape = comparison_shape});
}

inline constexpr auto op_is_nan = judge(BP_OP_is_nan, "y = whether x is NaN", kFloats);

struct IsInfAttributes {
    bool detect_negative = true;
    bool detect_positive = true;
};
inline constexpr auto op_is_inf =
    judge<IsInfAttributes>(BP_OP_is_inf, "y = whether x is an infinity of a sign that counts", kFloats,
                           {attribute<&IsInfAttributes::detect_negative>(BP_ATTR_detect_negative),
                            attribute<&IsInfAttributes::detect_positive>(BP_ATTR_detect_positive)});

inline constexpr auto op_logical_not = judge(BP_OP_logical_not, "y = not x", kTruth);

inline constexpr auto op_equal = comparison(BP_OP_equal, "y = a is b; NaN is nothing", kNumbers | kTruth);
inline constexpr auto op_less = comparison(BP_OP_less, "y = a < b; false with NaN");
inline constexpr auto op_less_or_equal = comparison(BP_OP_less_or_equal, "y = a <= b; false with NaN");
inline constexpr auto op_greater = comparison(BP_OP_greater, "y = a > b; false with NaN");
inline constexpr auto op_greater_or_equal = comparison(BP_OP_greater_or_equal, "y = a >= b; false with NaN");
inline constexpr auto op_logical_and = comparison(BP_OP_logical_and, "y = a and b", kTruth);
inline constexpr auto op_logical_or = comparison(BP_OP_logical_or, "y = a or b or both", kTruth);
inline constexpr auto op_logical_xor = comparison(BP_OP_logical_xor, "y = a or b, not both", kTruth);

constexpr void where_shape(const Call& call, Outputs out) {
    const auto text = [&] { return call.text(0) + ", " + call.text(1) + " and " + call.text(2) + " do not broadcast"; };
    out[0].dims = broadcast(broadcast(call.dims(1), call.dims(2), text), call.dims(0), text);
}
inline constexpr auto op_where =
    describe<None>({.id = BP_OP_where,
                    .summary = "elements of x where a condition holds, of y elsewhere",
                    .shapes = "condition, x, y -> z, broadcast as numpy's",
                    .inputs = {{"condition", one_of(kTruth)}, {"x", one_of(kPlain)}, {"y", like(1)}},
                    .outputs = {{"z", like(1)}},
                    .moves = true,
                    .shape = where_shape});

}  // namespace backplane::ops
