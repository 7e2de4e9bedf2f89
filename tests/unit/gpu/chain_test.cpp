// Which element-wise ops become one dispatch.
#include <gtest/gtest.h>

#include "common/gpu/chain.hpp"
#include "graph_maker.hpp"
#include "kernels_generated.h"

namespace backplane::gpu {
namespace {

constexpr int64_t kLength = 24;

// Ops of one operand, one behind the other.
Plan functions(const std::vector<uint32_t>& ops, bool joined = true, uint32_t dtype = BP_F32) {
    GraphMaker g;
    uint32_t at = g.tensor(BP_ROLE_INPUT, {kLength}, dtype);
    for (size_t k = 0; k < ops.size(); ++k) {
        const uint32_t next = g.tensor(k + 1 < ops.size() ? BP_ROLE_TEMPORARY : BP_ROLE_OUTPUT, {kLength}, dtype);
        g.node(ops[k], {at}, next);
        at = next;
    }
    Abilities can;
    can.halves = can.bytes = can.longs = true;
    can.most_range = 1 << 20;
    can.chains = joined;
    return g.plan(can);
}

// x + a + b + ..., of operands of these dimensions.
Plan sums(const std::vector<int64_t>& dim, const std::vector<std::vector<int64_t>>& others) {
    GraphMaker g;
    uint32_t at = g.tensor(BP_ROLE_INPUT, dim);
    for (size_t k = 0; k < others.size(); ++k) {
        const uint32_t other = g.tensor(BP_ROLE_INPUT, others[k]);
        const uint32_t next = g.tensor(k + 1 < others.size() ? BP_ROLE_TEMPORARY : BP_ROLE_OUTPUT, dim);
        g.node(BP_OP_add, {at, other}, next);
        at = next;
    }
    return g.plan();
}

TEST(Chains, AreOneDispatchForUpToSixteenSteps) {
    const Plan two = functions({BP_OP_relu, BP_OP_exp});
    ASSERT_EQ(two.dispatches.size(), 1U);
    EXPECT_EQ(two.dispatches[0].kernel, uint32_t{kKernel_chain_f32});
    EXPECT_EQ(two.dispatches[0].label, "Relu, Exp f32[24]");
    EXPECT_EQ(two.workspace_bytes, 0U);
    EXPECT_EQ(functions(std::vector<uint32_t>(16, BP_OP_relu)).dispatches.size(), 1U);
    EXPECT_EQ(functions(std::vector<uint32_t>(17, BP_OP_relu)).dispatches.size(), 2U);
    EXPECT_EQ(functions(std::vector<uint32_t>(200, BP_OP_relu)).dispatches.size(), 13U);
    EXPECT_EQ(functions({BP_OP_relu, BP_OP_exp}, true, BP_F16).dispatches[0].kernel, uint32_t{kKernel_chain_f16});
}

TEST(Chains, OneOpAloneKeepsItsKernelAndAnOptionKeepsThemAll) {
    EXPECT_EQ(functions({BP_OP_relu}).dispatches[0].kernel, uint32_t{kKernel_unary_f32});
    EXPECT_EQ(functions({BP_OP_relu, BP_OP_exp, BP_OP_abs}, false).dispatches.size(), 3U);
}

TEST(Chains, OfWholeNumbersAreNot) { EXPECT_EQ(functions({BP_OP_abs, BP_OP_neg}, true, BP_I32).dispatches.size(), 2U); }

TEST(Chains, TakeSevenOtherOperandsEachCountedOnce) {
    EXPECT_EQ(sums({4, 6}, std::vector<std::vector<int64_t>>(7, {4, 6})).dispatches.size(), 1U);
    EXPECT_EQ(sums({4, 6}, std::vector<std::vector<int64_t>>(8, {4, 6})).dispatches.size(), 2U);
    GraphMaker g;
    uint32_t at = g.tensor(BP_ROLE_INPUT, {kLength});
    const uint32_t step = g.tensor(BP_ROLE_WEIGHT, {kLength});
    for (int k = 0; k < 16; ++k) {
        const uint32_t next = g.tensor(k < 15 ? BP_ROLE_TEMPORARY : BP_ROLE_OUTPUT, {kLength});
        g.node(BP_OP_mul, {at, step}, next);
        at = next;
    }
    const Plan plan = g.plan();
    ASSERT_EQ(plan.dispatches.size(), 1U);
    EXPECT_EQ(plan.dispatches[0].operands.size(), 9U);
}

TEST(Chains, TakeOneNumberARowAndAChannelAndNoOtherBroadcast) {
    EXPECT_EQ(sums({2, 3, 4, 5}, {{2, 3, 4, 5}, {1}, {5}, {3, 1, 1}, {2, 1, 1, 1}, {4, 5}}).dispatches.size(), 1U);
    EXPECT_EQ(sums({2, 3, 4, 5}, {{2, 3, 4, 5}, {2, 1, 4, 1}}).dispatches.size(), 2U);
    EXPECT_EQ(sums({2, 3, 4, 5}, {{2, 1, 4, 1}, {2, 3, 4, 5}}).dispatches.size(), 2U);
    EXPECT_EQ(sums({2, 3, 4, 5}, {{2, 3, 4, 5}, {3, 1, 5}}).dispatches.size(), 2U);
}

TEST(Chains, SayWhichElementOfAnOperandMeetsWhich) {
    const auto repeats = [](const std::vector<int64_t>& of, const std::vector<int64_t>& in) {
        Value value;
        value.dim = of;
        const std::optional<Repeats> r = repeats_of(value, in);
        return r ? std::vector<uint32_t>{r->inner, r->count} : std::vector<uint32_t>{};
    };
    EXPECT_EQ(repeats({2, 3}, {2, 3}), (std::vector<uint32_t>{1, 0}));
    EXPECT_EQ(repeats({}, {2, 3}), (std::vector<uint32_t>{1, 1}));
    EXPECT_EQ(repeats({1, 1}, {1, 1}), (std::vector<uint32_t>{1, 1}));
    EXPECT_EQ(repeats({3}, {2, 3}), (std::vector<uint32_t>{1, 3}));
    EXPECT_EQ(repeats({2, 1}, {2, 3}), (std::vector<uint32_t>{3, 2}));
    EXPECT_EQ(repeats({3, 1, 1}, {2, 3, 4, 5}), (std::vector<uint32_t>{20, 3}));
    EXPECT_EQ(repeats({2, 1, 4}, {2, 3, 4}), (std::vector<uint32_t>{}));
    EXPECT_EQ(repeats({1, 3, 1}, {1, 3, 1}), (std::vector<uint32_t>{1, 0}));
}

TEST(Chains, EndWhereAValueIsReadTwiceOrIsAResultOrGrows) {
    GraphMaker twice;
    const uint32_t x = twice.tensor(BP_ROLE_INPUT, {kLength});
    const uint32_t middle = twice.tensor(BP_ROLE_TEMPORARY, {kLength});
    const uint32_t side = twice.tensor(BP_ROLE_TEMPORARY, {kLength});
    twice.node(BP_OP_relu, {x}, middle);
    twice.node(BP_OP_exp, {middle}, side);
    twice.node(BP_OP_add, {middle, side}, twice.tensor(BP_ROLE_OUTPUT, {kLength}));
    EXPECT_EQ(twice.plan().dispatches.size(), 2U);

    GraphMaker square;
    const uint32_t a = square.tensor(BP_ROLE_INPUT, {kLength});
    const uint32_t b = square.tensor(BP_ROLE_TEMPORARY, {kLength});
    square.node(BP_OP_relu, {a}, b);
    square.node(BP_OP_mul, {b, b}, square.tensor(BP_ROLE_OUTPUT, {kLength}));
    EXPECT_EQ(square.plan().dispatches.size(), 2U);

    GraphMaker result;
    const uint32_t in = result.tensor(BP_ROLE_INPUT, {kLength});
    const uint32_t out = result.tensor(BP_ROLE_OUTPUT, {kLength});
    result.node(BP_OP_relu, {in}, out);
    result.node(BP_OP_exp, {out}, result.tensor(BP_ROLE_OUTPUT, {kLength}));
    EXPECT_EQ(result.plan().dispatches.size(), 2U);

    GraphMaker grows;
    const uint32_t row = grows.tensor(BP_ROLE_INPUT, {kLength});
    const uint32_t map = grows.tensor(BP_ROLE_INPUT, {3, kLength});
    const uint32_t made = grows.tensor(BP_ROLE_TEMPORARY, {kLength});
    grows.node(BP_OP_relu, {row}, made);
    grows.node(BP_OP_add, {made, map}, grows.tensor(BP_ROLE_OUTPUT, {3, kLength}));
    EXPECT_EQ(grows.plan().dispatches.size(), 2U);
}

TEST(Chains, OfMixedTypesAreJoinedWhereNoCastStandsBetween) {
    GraphMaker g;
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {kLength}, BP_BF16);
    const uint32_t a = g.tensor(BP_ROLE_TEMPORARY, {kLength}, BP_BF16);
    g.node(BP_OP_relu, {x}, a);
    g.node(BP_OP_exp, {a}, g.tensor(BP_ROLE_OUTPUT, {kLength}, BP_BF16));
    for (const Dispatch& d : g.plan().dispatches) EXPECT_NE(d.kernel, uint32_t{kKernel_chain_f32}) << d.label;
}

TEST(Chains, WriteAStateWhereItStands) {
    GraphMaker g;
    const uint32_t state = g.tensor(BP_ROLE_STATE, {kLength});
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {kLength});
    const uint32_t next = g.next(state);
    const uint32_t sum = g.tensor(BP_ROLE_TEMPORARY, {kLength});
    g.node(BP_OP_add, {state, x}, sum);
    g.node(BP_OP_relu, {sum}, next);
    const Plan plan = g.plan();
    EXPECT_EQ(plan.dispatches.size(), 1U);  // and no copy
}

TEST(Chains, GoBehindTheEpilogueOfAProduct) {
    GraphMaker g;
    const uint32_t x = g.tensor(BP_ROLE_INPUT, {4, 8});
    const uint32_t w = g.tensor(BP_ROLE_WEIGHT, {8, 6});
    uint32_t at = g.tensor(BP_ROLE_TEMPORARY, {4, 6});
    g.node(BP_OP_matmul, {x, w}, at);
    // Of functions beyond the cheap ones an epilogue has one.
    for (const uint32_t op : {BP_OP_exp, BP_OP_tanh, BP_OP_sigmoid}) {
        const uint32_t next = g.tensor(op == BP_OP_sigmoid ? BP_ROLE_OUTPUT : BP_ROLE_TEMPORARY, {4, 6});
        g.node(op, {at}, next);
        at = next;
    }
    EXPECT_EQ(g.plan().dispatches.size(), 2U);
}

}  // namespace
}  // namespace backplane::gpu
