// What is read where it lies, and taken four elements at a time.
#include <gtest/gtest.h>

#include "graph_maker.hpp"
#include "kernels_generated.h"

namespace backplane::gpu {
namespace {

std::vector<uint32_t> kernels_of(const std::vector<Dispatch>& dispatches) {
    std::vector<uint32_t> kernels;
    for (const Dispatch& d : dispatches) kernels.push_back(d.kernel);
    return kernels;
}

// A depthwise convolution of 3 x 1, stride 2, of [2, 19, 5, 12], between transposes of these orders; `also`: the map in between is a result, too.
std::vector<Dispatch> between(const std::vector<int64_t>& before, const std::vector<int64_t>& behind, bool also = false) {
    GraphMaker g;
    const std::vector<int64_t> pads{1, 0, 1, 0}, strides{2, 1};
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {2, 19, 5, 12});
    const uint32_t front = g.tensor(BP_ROLE_TEMPORARY, {2, 12, 19, 5});
    const uint32_t y = g.tensor(also ? BP_ROLE_OUTPUT : BP_ROLE_TEMPORARY, {2, 12, 10, 5});
    g.node(BP_OP_transpose, {x}, front, {list(BP_ATTR_perm, before)});
    g.node(BP_OP_conv, {front, g.tensor(BP_ROLE_WEIGHT, {12, 1, 3, 1})}, y,
           {list(BP_ATTR_pads, pads), list(BP_ATTR_strides, strides), integer(BP_ATTR_group, 12)});
    std::vector<int64_t> last(4);
    for (size_t d = 0; d < 4; ++d) last[d] = std::vector<int64_t>{2, 12, 10, 5}[static_cast<size_t>(behind[d])];
    g.node(BP_OP_transpose, {y}, g.tensor(BP_ROLE_OUTPUT, last), {list(BP_ATTR_perm, behind)});
    return g.plan().dispatches;
}

TEST(ChannelsLast, DepthwiseConvolutionsBetweenTransposesMoveNothing) {
    const std::vector<Dispatch> all = between({0, 3, 1, 2}, {0, 2, 3, 1});
    ASSERT_EQ(kernels_of(all), std::vector<uint32_t>{kKernel_conv_depthwise_last_f32});
    ConvDepthwiseParameters p{};
    std::memcpy(&p, all[0].parameters.data(), sizeof p);
    EXPECT_EQ(p.height, 19U);
    EXPECT_EQ(p.width, 5U);
    EXPECT_EQ(p.out_height, 10U);
    EXPECT_EQ(p.groups, 12U);
    EXPECT_EQ(p.elements, 2U * 2 * 5 * 12) << "stretches of eight rows";
}

TEST(ChannelsLast, WhatIsReadOtherwiseStaysWhereItIs) {
    EXPECT_EQ(between({0, 3, 1, 2}, {0, 1, 3, 2}).size(), 3U) << "channels stay in front";
    EXPECT_EQ(between({0, 3, 1, 2}, {0, 2, 3, 1}, true).size(), 3U) << "the map is a result";
}

// Of Add of two inputs of f32: how many elements an invocation makes, as the kernel is told.
uint32_t fours_of(const std::vector<int64_t>& a, const std::vector<int64_t>& b, const std::vector<int64_t>& sum) {
    GraphMaker g;
    g.node(BP_OP_add, {g.tensor(BP_ROLE_INPUT, a), g.tensor(BP_ROLE_INPUT, b)}, g.tensor(BP_ROLE_OUTPUT, sum));
    const Plan plan = g.plan();
    return plan.dispatches.at(0).constants.at(2);
}

TEST(Broadcast, InnerAxesOfWholeFoursAreTakenFourAtATime) {
    EXPECT_EQ(fours_of({3, 5, 8}, {3, 5, 8}, {3, 5, 8}), 1U) << "all in order";
    EXPECT_EQ(fours_of({3, 5, 8}, {3, 5, 1}, {3, 5, 8}), 2U);
    EXPECT_EQ(fours_of({5, 1}, {3, 5, 8}, {3, 5, 8}), 2U);
    EXPECT_EQ(fours_of({3, 5, 8}, {1, 1, 8}, {3, 5, 8}), 2U);
    EXPECT_EQ(fours_of({3, 5, 6}, {3, 5, 1}, {3, 5, 6}), 0U);
    EXPECT_EQ(fours_of({3, 1, 8}, {1, 5, 8}, {3, 5, 8}), 2U);
}

}  // namespace
}  // namespace backplane::gpu
