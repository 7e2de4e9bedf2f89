// Products by weights in blocks: they are split once, into what is in the blocks and the scales.
#include <gtest/gtest.h>

#include "graph_maker.hpp"

namespace backplane::gpu {
namespace {

Plan product_plan(uint32_t role, int64_t rows) {
    GraphMaker g;
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {rows, 256});
    const uint32_t w = g.tensor(role, {96, 256}, BP_Q8_0);
    g.node(BP_OP_matmul, {x, w}, g.tensor(BP_ROLE_OUTPUT, {rows, 96}), {integer(BP_ATTR_transpose_b, 1)});
    return g.plan();
}
const Slot& weight_slot(const Plan& plan) {
    return *std::find_if(plan.slots.begin(), plan.slots.end(), [](const Slot& slot) { return slot.tensor == 1; });
}

TEST(Blocks, OfAWeightAreSplitByPackTheSameForAnyNumberOfRows) {
    const uint64_t layout = weight_slot(product_plan(BP_ROLE_WEIGHT, 1)).layout;
    EXPECT_NE(layout, 0U);
    for (const int64_t rows : {1, 5, 64}) {
        const Plan plan = product_plan(BP_ROLE_WEIGHT, rows);
        EXPECT_EQ(weight_slot(plan).layout, layout) << rows << " rows: one copy of the weight serves all";
        EXPECT_EQ(weight_slot(plan).bytes, uint64_t{96} * 256 / 32 * 34) << "no more than before";
        EXPECT_EQ(plan.dispatches.size(), 1U);
    }
}

TEST(Blocks, OfWhatARunBringsAreReadAsTheyAre) {
    const Plan plan = product_plan(BP_ROLE_INPUT, 1);
    EXPECT_EQ(weight_slot(plan).layout, 0U);
    EXPECT_EQ(plan.dispatches.size(), 1U);
}

}  // namespace
}  // namespace backplane::gpu
