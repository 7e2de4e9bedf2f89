// Convolutions that read a window once, and what they multiply as they read it.
#include <gtest/gtest.h>

#include "common/gpu/kernel_words.hpp"
#include "graph_maker.hpp"
#include "kernels_generated.h"

namespace backplane::gpu {
namespace {

Abilities few_kernels() {
    Abilities can;
    can.halves = can.bytes = can.longs = can.few_kernels = true;
    can.most_range = 1 << 30;
    return can;
}

constexpr int64_t kFrames = 20, kChannels = 32;

// A gate, a mask by frame, and a depthwise convolution along frames between transposes; `also`: a result beside its own.
enum class Also { nothing, gate, masked };
std::vector<Dispatch> gated(Also also, const Abilities& can, uint32_t math = BP_MATH_DEFAULT) {
    GraphMaker g;
    const std::vector<int64_t> one{1}, first{0, 0, 0}, middle{0, 0, kChannels}, half{2, kFrames, kChannels},
        end{2, kFrames, 2 * kChannels}, front{0, 3, 1, 2}, back{0, 2, 3, 1}, pads{4, 0, 4, 0},
        last{2, kFrames, 1, kChannels};
    const auto temporary = [&](const std::vector<int64_t>& dim) { return g.tensor(BP_ROLE_TEMPORARY, dim, BP_F16); };
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {2, kFrames, 2 * kChannels}, BP_F16);
    const uint32_t own = temporary(half), gate = temporary(half), opened = temporary(half);
    g.node(BP_OP_slice, {x}, own, {list(BP_ATTR_starts, first), list(BP_ATTR_ends, half)});
    g.node(BP_OP_slice, {x}, gate, {list(BP_ATTR_starts, middle), list(BP_ATTR_ends, end)});
    g.node(BP_OP_sigmoid, {gate}, opened);
    const uint32_t product = g.tensor(also == Also::gate ? BP_ROLE_OUTPUT : BP_ROLE_TEMPORARY, half, BP_F16);
    g.node(BP_OP_mul, {own, opened}, product);
    const uint32_t masked = g.tensor(also == Also::masked ? BP_ROLE_OUTPUT : BP_ROLE_TEMPORARY, half, BP_F16);
    g.node(BP_OP_mul, {product, g.tensor(BP_ROLE_INPUT, {2, kFrames, 1}, BP_F16)}, masked);
    const uint32_t map = temporary(last), turned = temporary({2, kChannels, kFrames, 1}),
                   y = temporary({2, kChannels, kFrames, 1});
    g.node(BP_OP_reshape, {masked}, map, {list(BP_ATTR_shape, last)});
    g.node(BP_OP_transpose, {map}, turned, {list(BP_ATTR_perm, front)});
    g.node(BP_OP_conv, {turned, g.tensor(BP_ROLE_WEIGHT, {kChannels, 1, 9, 1}, BP_F16)}, y,
           {list(BP_ATTR_pads, pads), integer(BP_ATTR_group, kChannels)});
    g.node(BP_OP_transpose, {y}, g.tensor(BP_ROLE_OUTPUT, last, BP_F16), {list(BP_ATTR_perm, back)});
    return g.plan(can, math).dispatches;
}

TEST(Windows, AGateAndAMaskAreReadWithTheFramesTheyAreOf) {
    const std::vector<Dispatch> all = gated(Also::nothing, few_kernels());
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].kernel, kKernel_conv_frames_f16);
    EXPECT_EQ(all[0].constants.at(3), CONV_TAKES_GATED | CONV_TAKES_MASK);
    ConvDepthwiseParameters p{};
    std::memcpy(&p, all[0].parameters.data(), sizeof p);
    EXPECT_EQ(p.height, static_cast<uint32_t>(kFrames));
    EXPECT_EQ(p.elements, 2U * 3 * kChannels / 2) << "stretches of eight frames of two channels";
}

TEST(Windows, WhatOthersReadIsMadeForThem) {
    const std::vector<Dispatch> of_gate = gated(Also::gate, few_kernels());
    ASSERT_EQ(of_gate.size(), 2U);
    EXPECT_EQ(of_gate[0].kernel, kKernel_gated_f16);
    EXPECT_EQ(of_gate[1].constants.at(3), CONV_TAKES_MASK);
    const std::vector<Dispatch> of_mask = gated(Also::masked, few_kernels());
    ASSERT_EQ(of_mask.size(), 3U);
    EXPECT_EQ(of_mask[2].kernel, kKernel_conv_frames_f16);
    EXPECT_EQ(of_mask[2].constants.at(3), 0U);
}

TEST(Windows, NotWhereEachStepIsRoundedOrKernelsAreBuiltWhenWanted) {
    EXPECT_EQ(gated(Also::nothing, few_kernels(), BP_MATH_STRICT).size(), 3U);
    Abilities can = few_kernels();
    can.few_kernels = false;
    EXPECT_EQ(gated(Also::nothing, can).size(), 3U);
}

// A Conv of 3 x 3 and steps of 2 behind a Mul by `mask`.
std::vector<Dispatch> halved(const std::vector<int64_t>& x, int64_t group, const std::vector<int64_t>& mask,
                             int64_t outputs) {
    GraphMaker g;
    const std::vector<int64_t> pads(4, 1), strides{2, 2};
    const uint32_t masked = g.tensor(BP_ROLE_TEMPORARY, x, BP_F16);
    g.node(BP_OP_mul, {g.tensor(BP_ROLE_INPUT, x, BP_F16), g.tensor(BP_ROLE_INPUT, mask, BP_F16)}, masked);
    g.node(BP_OP_conv, {masked, g.tensor(BP_ROLE_WEIGHT, {outputs, x[1] / group, 3, 3}, BP_F16)},
           g.tensor(BP_ROLE_OUTPUT, {x[0], outputs, (x[2] + 1) / 2, (x[3] + 1) / 2}, BP_F16),
           {list(BP_ATTR_pads, pads), list(BP_ATTR_strides, strides), integer(BP_ATTR_group, group)});
    return g.plan(few_kernels()).dispatches;
}

TEST(Windows, MapsOfOneChannelAGroupAreHalvedWithTheMaskOfTheirRows) {
    const std::vector<Dispatch> one = halved({2, 1, 13, 48}, 1, {2, 1, 13, 1}, 40);
    ASSERT_EQ(one.size(), 1U);
    EXPECT_EQ(one[0].kernel, kKernel_conv_halving_f16);
    EXPECT_EQ(one[0].constants.at(3), CONV_TAKES_MASK);
    ConvDepthwiseParameters p{};
    std::memcpy(&p, one[0].parameters.data(), sizeof p);
    EXPECT_EQ(p.elements, 2U * 3 * 7 * 3) << "sixteen channels of eight pixels each";
    EXPECT_EQ(halved({1, 6, 8, 32}, 6, {1, 1, 8, 1}, 6).size(), 1U) << "depthwise";
}

TEST(Windows, OtherFactorsAndRowsAreLeftToTheOthers) {
    EXPECT_EQ(halved({1, 6, 8, 32}, 6, {1, 6, 8, 1}, 6).size(), 2U) << "a number a row and channel";
    EXPECT_EQ(halved({1, 6, 8, 32}, 6, {1, 1, 1, 32}, 6).size(), 2U) << "a number a column";
    const std::vector<Dispatch> odd = halved({1, 6, 8, 24}, 6, {1, 1, 8, 1}, 6);
    ASSERT_EQ(odd.size(), 2U);
    EXPECT_EQ(odd[1].kernel, kKernel_conv_depthwise_f16) << "rows of no whole sixteens";
    for (const Dispatch& d : halved({1, 4, 8, 32}, 2, {1, 1, 8, 1}, 4))
        EXPECT_NE(d.kernel, kKernel_conv_halving_f16) << "two channels a group";
}

}  // namespace
}  // namespace backplane::gpu
