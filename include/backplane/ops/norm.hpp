// Descriptions of softmax and the normalisations.
#pragma once

#include <cmath>

#include "backplane/ops/description.hpp"

namespace backplane::ops {

inline void require_epsilon(double epsilon) {
    require_attribute(std::isfinite(epsilon) && epsilon >= 0, [] { return "attribute epsilon must be 0 or more"; });
}
// Input i, when given, has this shape.
inline void require_parameter(const Call& call, size_t i, const Dims& wanted) {
    require(!call.has(i) || call.dims(i) == wanted,
            [&] { return call.text(i) + " must be " + text_of(wanted) + " for " + call.text(0); });
}
// x[N, C, ...]: the channels of a feature map.
inline Dims channels_of(const Call& call) {
    require(call.rank(0) >= 2, [&] { return call.text(0) + " must have a batch and a channel axis"; });
    return {call.dims(0)[1]};
}

struct SoftmaxAttributes {
    int64_t axis = -1;
};
constexpr DescriptionOf<SoftmaxAttributes> softmax_of(uint32_t id, const char* summary) {
    return describe<SoftmaxAttributes>({.id = id,
                                        .summary = summary,
                                        .shapes = "x -> y alike",
                                        .inputs = {{"x", one_of(kFloats)}},
                                        .outputs = {{"y", like(0)}},
                                        .attributes = {attribute<&SoftmaxAttributes::axis>(BP_ATTR_axis, axis_of(0))},
                                        .shape = same_shape});
}
inline constexpr auto op_softmax =
    softmax_of(BP_OP_softmax, "e^x over its sum along an axis; where all of x along it is -infinity, NaN");
inline constexpr auto op_log_softmax =
    softmax_of(BP_OP_log_softmax, "ln of Softmax: x less the ln of the sum of e^x along an axis");

// LayerNorm and RMSNormalization: over the axes from `axis` on.
struct RowNormAttributes {
    int64_t axis = -1;
    double epsilon = 1e-5;
};
inline void row_norm_shape(const Call& call, Outputs out) {
    const auto& a = call.as<RowNormAttributes>();
    require_epsilon(a.epsilon);
    Dims normalised;
    for (auto d = static_cast<uint32_t>(a.axis); d < call.rank(0); ++d) normalised.push_back(call.dims(0)[d]);
    for (size_t i = 1; i < call.inputs.size(); ++i) require_parameter(call, i, normalised);
    same_shape(call, out);
}
constexpr DescriptionOf<RowNormAttributes> row_norm(uint32_t id, const char* summary, decltype(Description::inputs) inputs) {
    return describe<RowNormAttributes>({.id = id,
                                        .summary = summary,
                                        .shapes = "x -> y alike; parameters have the shape of x from axis on",
                                        .inputs = inputs,
                                        .outputs = {{"y", like(0)}},
                                        .attributes = {attribute<&RowNormAttributes::axis>(BP_ATTR_axis, axis_of(0)),
                                                       attribute<&RowNormAttributes::epsilon>(BP_ATTR_epsilon)},
                                        .shape = row_norm_shape});
}
inline constexpr auto op_layer_norm = row_norm(BP_OP_layer_norm, "rows with mean 0 and variance 1, scaled and shifted",
                                               {{"x", one_of(kFloats)}, {"scale", like(0), true}, {"bias", like(0), true}});
inline constexpr auto op_rms_norm =
    row_norm(BP_OP_rms_norm, "rows with a mean square of 1, scaled", {{"x", one_of(kFloats)}, {"scale", like(0), true}});

struct BatchNormAttributes {
    double epsilon = 1e-5;
};
inline void batch_norm_shape(const Call& call, Outputs out) {
    require_epsilon(call.as<BatchNormAttributes>().epsilon);
    const Dims channels = channels_of(call);
    for (size_t i = 1; i < call.inputs.size(); ++i) require_parameter(call, i, channels);
    same_shape(call, out);
}
inline constexpr auto op_batch_norm = describe<BatchNormAttributes>(
    {.id = BP_OP_batch_norm,
     .summary = "channels normalised by given statistics",
     .shapes = "x[N, C, ...], scale[C], bias[C], mean[C], variance[C] -> y alike",
     .inputs = {{"x", one_of(kFloats)}, {"scale", like(0)}, {"bias", like(0)}, {"mean", like(0)}, {"variance", like(0)}},
     .outputs = {{"y", like(0)}},
     .attributes = {attribute<&BatchNormAttributes::epsilon>(BP_ATTR_epsilon)},
     .shape = batch_norm_shape});

struct InstanceNormAttributes {
    double epsilon = 1e-5;
};
inline void instance_norm_shape(const Call& call, Outputs out) {
    require(call.rank(0) >= 3, [&] { return call.text(0) + " must have a batch, a channel and a spatial axis"; });
    require_epsilon(call.as<InstanceNormAttributes>().epsilon);
    for (size_t i = 1; i < call.inputs.size(); ++i) require_parameter(call, i, channels_of(call));
    same_shape(call, out);
}
inline constexpr auto op_instance_norm = describe<InstanceNormAttributes>(
    {.id = BP_OP_instance_norm,
     .summary = "each channel of each sample with mean 0 and variance 1, scaled and shifted",
     .shapes = "x[N, C, ...], scale[C], bias[C] -> y alike",
     .inputs = {{"x", one_of(kFloats)}, {"scale", like(0)}, {"bias", like(0)}},
     .outputs = {{"y", like(0)}},
     .attributes = {attribute<&InstanceNormAttributes::epsilon>(BP_ATTR_epsilon)},
     .shape = instance_norm_shape});

struct GroupNormAttributes {
    Required<int64_t> groups;
    double epsilon = 1e-5;
};
inline void group_norm_shape(const Call& call, Outputs out) {
    const auto& a = call.as<GroupNormAttributes>();
    require_epsilon(a.epsilon);
    const Dims channels = channels_of(call);
    require(channels[0] % a.groups.value == 0, [&] {
        return call.text(0) + " has " + std::to_string(channels[0]) +
               " channels, which do not divide by groups = " + std::to_string(a.groups.value);
    });
    for (size_t i = 1; i < call.inputs.size(); ++i) require_parameter(call, i, channels);
    same_shape(call, out);
}
inline constexpr auto op_group_norm =
    describe<GroupNormAttributes>({.id = BP_OP_group_norm,
                                   .summary = "groups of channels with mean 0 and variance 1, scaled and shifted",
                                   .shapes = "x[N, C, ...], scale[C]?, bias[C]? -> y alike",
                                   .inputs = {{"x", one_of(kFloats)}, {"scale", like(0), true}, {"bias", like(0), true}},
                                   .outputs = {{"y", like(0)}},
                                   .attributes = {attribute<&GroupNormAttributes::groups>(BP_ATTR_groups, at_least(1)),
                                                  attribute<&GroupNormAttributes::epsilon>(BP_ATTR_epsilon)},
                                   .shape = group_norm_shape});

}  // namespace backplane::ops
