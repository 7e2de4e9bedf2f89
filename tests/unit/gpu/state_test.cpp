// State in place: the new value of a state has the state's memory unless somebody reads the old content later. What kernels write there is the
// contract's (A14) and the conformance suite's to say.
#include <gtest/gtest.h>

#include "graph_maker.hpp"

namespace backplane::gpu {
namespace {

constexpr int64_t kRows = 7;
constexpr int64_t kColumns = 5;
constexpr uint64_t kState = kRows * kColumns * 4;
constexpr uint64_t kRow = kColumns * 4;

struct WithState : GraphMaker {
    WithState() : state(tensor(BP_ROLE_STATE, {1, kRows, kColumns})) {}
    uint32_t input() { return tensor(BP_ROLE_INPUT, {1, kRows, kColumns}); }
    // -x of the state's shape, an output of the graph.
    void negated(uint32_t x) { node(BP_OP_neg, {x}, tensor(BP_ROLE_OUTPUT, {1, kRows, kColumns})); }
    // The state with a row put in somewhere.
    uint32_t scatter() {
        const uint32_t row = tensor(BP_ROLE_INPUT, {1, 1, kColumns});
        const uint32_t position = tensor(BP_ROLE_INPUT, {1}, BP_I64);
        const uint32_t to = next(state);
        node(BP_OP_tensor_scatter, {state, row, position}, to, {integer(BP_ATTR_axis, 1)});
        return to;
    }
    uint32_t state;
};

uint32_t storage_of(const Plan& plan, uint32_t value) { return plan.storage_of(value); }

TEST(State, ARowIsPutWhereItStands) {
    WithState g;
    const uint32_t next = g.scatter();
    const Plan plan = g.plan();
    EXPECT_EQ(storage_of(plan, next), g.state);
    EXPECT_EQ(plan.dispatches.size(), 1U);
    EXPECT_EQ(plan.moved_bytes(), kRow);
    EXPECT_EQ(plan.workspace_bytes, 0U);
}

TEST(State, NodesBeforeTheUpdateReadTheOldContentAndThoseBehindItTheNew) {
    WithState g;
    g.negated(g.state);
    const uint32_t next = g.scatter();
    g.negated(next);
    const Plan plan = g.plan();
    EXPECT_EQ(storage_of(plan, next), g.state);
    EXPECT_EQ(plan.moved_bytes(), kRow);
}

TEST(State, WhoReadsTheOldContentLaterCostsACopy) {
    WithState g;
    const uint32_t next = g.scatter();
    g.negated(g.state);
    const Plan plan = g.plan();
    EXPECT_EQ(storage_of(plan, next), next);
    EXPECT_EQ(plan.moved_bytes(), 2 * kState + kRow) << "there, the row, and back";
    EXPECT_EQ(plan.dispatches.back().label, "update state f32[1,7,5]");
}

TEST(State, AViewOfTheOldContentIsARead) {
    WithState g;
    const uint32_t flat = g.tensor(BP_ROLE_TEMPORARY, {kRows * kColumns});
    const std::vector<int64_t> shape = {kRows * kColumns};
    g.node(BP_OP_reshape, {g.state}, flat, {list(BP_ATTR_shape, shape)});
    const uint32_t next = g.scatter();
    g.node(BP_OP_neg, {flat}, g.tensor(BP_ROLE_OUTPUT, {kRows * kColumns}));
    EXPECT_EQ(storage_of(g.plan(), next), next);
}

TEST(State, ElementWiseUpdatesNeedNoCopyAndOthersDo) {
    WithState sum;
    const uint32_t added = sum.next(sum.state);
    sum.node(BP_OP_add, {sum.state, sum.input()}, added);
    EXPECT_EQ(storage_of(sum.plan(), added), sum.state);

    // A sum over a row reads elements that the same kernel writes.
    WithState twice;
    const uint32_t mid = twice.tensor(BP_ROLE_TEMPORARY, {1, kRows, kColumns});
    twice.node(BP_OP_softmax, {twice.state}, mid, {integer(BP_ATTR_axis, 2)});
    const uint32_t soft = twice.next(twice.state);
    twice.node(BP_OP_softmax, {mid}, soft, {integer(BP_ATTR_axis, 2)});
    EXPECT_EQ(storage_of(twice.plan(), soft), twice.state) << "the old content is read by the first alone";
    WithState direct;
    const uint32_t once = direct.next(direct.state);
    direct.node(BP_OP_softmax, {direct.state}, once, {integer(BP_ATTR_axis, 2)});
    EXPECT_EQ(storage_of(direct.plan(), once), once);
}

TEST(State, TwoStatesThatChangePlacesAreBothRight) {
    WithState g;
    const uint32_t other = g.tensor(BP_ROLE_STATE, {1, kRows, kColumns});
    const uint32_t a = g.next(g.state);
    const uint32_t b = g.next(other);
    g.node(BP_OP_neg, {other}, a);
    g.node(BP_OP_neg, {g.state}, b);
    const Plan plan = g.plan();
    EXPECT_EQ(storage_of(plan, a), a) << "the other's new value reads the old content";
    EXPECT_EQ(storage_of(plan, b), other);
}

}  // namespace
}  // namespace backplane::gpu
