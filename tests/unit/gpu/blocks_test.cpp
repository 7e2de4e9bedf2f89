// Products by weights in blocks: planes are made of them, once where they stay the same.
#include <gtest/gtest.h>

#include "common/gpu/ops/blocks.hpp"
#include "graph_maker.hpp"

namespace backplane::gpu {
namespace {

constexpr uint32_t kTypes[] = {BP_Q8_0, BP_Q4_0, BP_Q4_1, BP_Q5_0, BP_Q5_1,   BP_IQ4_NL, BP_Q2_K,
                               BP_Q3_K, BP_Q4_K, BP_Q5_K, BP_Q6_K, BP_IQ4_XS, BP_Q8_K};

Plan product_plan(uint32_t role, int64_t rows, uint32_t dtype = BP_Q8_0, int64_t depth = 256) {
    GraphMaker g;
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {rows, depth});
    const uint32_t w = g.tensor(role, {96, depth}, dtype);
    g.node(BP_OP_matmul, {x, w}, g.tensor(BP_ROLE_OUTPUT, {rows, 96}), {integer(BP_ATTR_transpose_b, 1)});
    return g.plan();
}
const Slot& weight_slot(const Plan& plan) {
    return *std::find_if(plan.slots.begin(), plan.slots.end(), [](const Slot& slot) { return slot.tensor == 1; });
}

TEST(Blocks, OfAWeightAreSplitByPackTheSameForAnyNumberOfRows) {
    for (const uint32_t dtype : kTypes) {
        const uint64_t layout = weight_slot(product_plan(BP_ROLE_WEIGHT, 1, dtype)).layout;
        EXPECT_NE(layout, 0U);
        for (const int64_t rows : {1, 5, 64}) {
            const Plan plan = product_plan(BP_ROLE_WEIGHT, rows, dtype);
            EXPECT_EQ(weight_slot(plan).layout, layout) << rows << " rows: one copy of the weight serves all";
            EXPECT_EQ(plan.dispatches.size(), 1U);
        }
    }
}

TEST(Blocks, OfEveryTypeAreReadByProductsWithoutAFloatOfThemInTheWorkspace) {
    for (const uint32_t dtype : kTypes)
        for (const int64_t rows : {1, 8, 9, 200}) {
            EXPECT_EQ(product_plan(BP_ROLE_WEIGHT, rows, dtype, 1024).workspace_bytes, 0U) << sdk::dtype_info(dtype).name;
            // Of what a run brings planes are made in each.
            const Plan plan = product_plan(BP_ROLE_INPUT, rows, dtype, 1024);
            // Of q8_k without the sums of its digits.
            const uint64_t brought = weight_slot(plan).bytes / (dtype == BP_Q8_K ? 292 : 1) * (dtype == BP_Q8_K ? 264 : 1);
            EXPECT_GE(plan.workspace_bytes, brought);
            EXPECT_LE(plan.workspace_bytes, brought + brought / 20) << sdk::dtype_info(dtype).name;
        }
}

TEST(Blocks, TakeAsManyBytesInPlanesAsBefore) {
    const auto more = [](uint32_t dtype, int64_t depth) {
        const Slot slot = weight_slot(product_plan(BP_ROLE_WEIGHT, 1, dtype, depth));
        return static_cast<double>(slot.bytes) / static_cast<double>(slot.plain_bytes);
    };
    for (const uint32_t dtype : {BP_Q8_0, BP_Q4_0, BP_Q4_1, BP_Q5_0, BP_Q5_1, BP_IQ4_NL, BP_Q2_K, BP_Q6_K})
        EXPECT_DOUBLE_EQ(more(dtype, 512), 1.0) << sdk::dtype_info(dtype).name;
    EXPECT_LT(more(BP_Q8_K, 512), 1.0) << "sums of digits are left out";
    for (const uint32_t dtype : {BP_Q3_K, BP_Q4_K, BP_Q5_K, BP_IQ4_XS})
        EXPECT_LT(more(dtype, 512), 1.04) << sdk::dtype_info(dtype).name << ": scales of six bits get eight";
    EXPECT_DOUBLE_EQ(more(BP_Q8_0, 640), 1.0) << "whole spans of 128";
    EXPECT_DOUBLE_EQ(more(BP_Q8_0, 544), 640.0 / 544) << "the last span of each column is filled up";
}

TEST(Blocks, ThatOthersReadTooStayAsTheyAre) {
    GraphMaker g;
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {1, 256});
    const uint32_t w = g.tensor(BP_ROLE_WEIGHT, {96, 256}, BP_Q6_K);
    g.node(BP_OP_matmul, {x, w}, g.tensor(BP_ROLE_OUTPUT, {1, 96}), {integer(BP_ATTR_transpose_b, 1)});
    g.node(BP_OP_cast, {w}, g.tensor(BP_ROLE_OUTPUT, {96, 256}), {integer(BP_ATTR_to, BP_F32)});
    EXPECT_EQ(weight_slot(g.plan()).layout, 0U);
}

TEST(Blocks, ThatAGatherReadsTooAreDecodedOfPlanesByIt) {
    for (const bool product : {true, false}) {
        GraphMaker g;
        const uint32_t w = g.tensor(BP_ROLE_WEIGHT, {96, 256}, BP_Q6_K);
        const uint32_t ids = g.tensor(BP_ROLE_INPUT, {1}, BP_I32);
        g.node(BP_OP_gather, {w, ids}, g.tensor(BP_ROLE_OUTPUT, {1, 256}), {integer(BP_ATTR_axis, 0)});
        const uint32_t x = g.tensor(BP_ROLE_INPUT, {1, 256});
        const uint32_t y = g.tensor(BP_ROLE_OUTPUT, {1, product ? 96 : 256});
        if (product)
            g.node(BP_OP_matmul, {x, w}, y, {integer(BP_ATTR_transpose_b, 1)});
        else
            g.node(BP_OP_relu, {x}, y);
        const Plan plan = g.plan();
        const Slot& slot = *std::find_if(plan.slots.begin(), plan.slots.end(), [&](const Slot& s) { return s.tensor == w; });
        EXPECT_EQ(slot.layout != 0, product) << "a Gather alone moves the rows that it picks as they are";
        const auto direct = std::count_if(plan.dispatches.begin(), plan.dispatches.end(),
                                          [](const Dispatch& d) { return d.kernel == kKernel_gather_blocks; });
        EXPECT_EQ(direct, product ? 1 : 0);
    }
}

TEST(Blocks, ThatAGatherReadsBehindOthersAndBehindTheProductAreDecodedOfPlanesToo) {
    GraphMaker g;
    const uint32_t ids = g.tensor(BP_ROLE_INPUT, {1}, BP_I32);
    const uint32_t alone = g.tensor(BP_ROLE_WEIGHT, {96, 256}, BP_Q8_0);
    g.node(BP_OP_gather, {alone, ids}, g.tensor(BP_ROLE_OUTPUT, {1, 256}), {integer(BP_ATTR_axis, 0)});
    const uint32_t w = g.tensor(BP_ROLE_WEIGHT, {96, 256}, BP_Q6_K);
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {1, 256});
    g.node(BP_OP_matmul, {x, w}, g.tensor(BP_ROLE_OUTPUT, {1, 96}), {integer(BP_ATTR_transpose_b, 1)});
    g.node(BP_OP_gather, {w, ids}, g.tensor(BP_ROLE_OUTPUT, {1, 256}), {integer(BP_ATTR_axis, 0)});
    const Plan plan = g.plan();
    for (const Slot& slot : plan.slots)
        if (slot.tensor == w || slot.tensor == alone) {
            EXPECT_EQ(slot.layout != 0, slot.tensor == w);
        }
    const auto direct = std::count_if(plan.dispatches.begin(), plan.dispatches.end(),
                                      [](const Dispatch& d) { return d.kernel == kKernel_gather_blocks; });
    EXPECT_EQ(direct, 1);
}

TEST(Blocks, OfARunThatTwoProductsReadAreSplitOnce) {
    GraphMaker g;
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {1, 256});
    const uint32_t w = g.tensor(BP_ROLE_INPUT, {256, 256}, BP_Q6_K);
    const uint32_t h = g.tensor(BP_ROLE_TEMPORARY, {1, 256});
    g.node(BP_OP_matmul, {x, w}, h, {integer(BP_ATTR_transpose_b, 1)});
    g.node(BP_OP_matmul, {h, w}, g.tensor(BP_ROLE_OUTPUT, {1, 256}), {integer(BP_ATTR_transpose_b, 1)});
    const Plan plan = g.plan();
    ASSERT_EQ(plan.dispatches.size(), 3U);
    EXPECT_EQ(plan.dispatches[0].kernel, kKernel_split_blocks);
}

}  // namespace
}  // namespace backplane::gpu
