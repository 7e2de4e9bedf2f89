// State in place: the new value of a state has the state's memory unless somebody reads the old content later, and `moved_bytes` says so.
#include <gtest/gtest.h>

#include "harness.hpp"

using namespace harness;

namespace {

constexpr int64_t kRows = 7;
constexpr int64_t kColumns = 5;
constexpr uint64_t kState = kRows * kColumns * 4;

Floats numbers(int64_t n, float first) {
    Floats out(static_cast<size_t>(n));
    for (float& v : out) v = first++;
    return out;
}

// A graph with a state S of [1, 7, 5] that holds 0, 1, 2, ...
struct WithState : Graph {
    WithState() { state = bound(BP_ROLE_STATE, {1, kRows, kColumns}, numbers(kRows * kColumns, 0)); }
    // `next` becomes the state's new value.
    void update(uint32_t next) {
        tensors_[next].role = BP_ROLE_STATE;
        tensors_[next].state_in = 1 + state;
    }
    // S with one row put in at `row`.
    uint32_t scatter(int64_t row) {
        const uint32_t value = input({1, 1, kColumns}, Floats(kColumns, -1));
        std::vector<std::byte> at(sizeof row);
        std::memcpy(at.data(), &row, sizeof row);
        const uint32_t position = bound_bytes(BP_ROLE_INPUT, {1}, BP_I64, at);
        return add(BP_OP_tensor_scatter, {state, value, position}, {1, kRows, kColumns}, {integer(BP_ATTR_axis, 1)});
    }
    static Floats scattered(int64_t row) {
        Floats out = numbers(kRows * kColumns, 0);
        std::fill_n(out.begin() + row * kColumns, kColumns, -1.0F);
        return out;
    }
    uint32_t state;
};

}  // namespace

TEST(State, ARowIsPutWhereItStands) {
    Device device;
    WithState g;
    g.update(g.scatter(2));
    Program program(device, g);
    EXPECT_EQ(program.info.moved_bytes, kColumns * 4U);
    EXPECT_EQ(program.info.workspace_bytes, 0U);
    program.run();
    EXPECT_EQ(program.read(g.state), WithState::scattered(2));
}

TEST(State, NodesBeforeTheUpdateReadTheOldContentAndThoseBehindItTheNew) {
    Device device;
    WithState g;
    const uint32_t before = g.add(BP_OP_neg, {g.state}, {1, kRows, kColumns});
    g.output(before);
    const uint32_t next = g.scatter(2);
    g.update(next);
    const uint32_t behind = g.add(BP_OP_neg, {next}, {1, kRows, kColumns});
    g.output(behind);
    Program program(device, g);
    EXPECT_EQ(program.info.moved_bytes, kColumns * 4U);
    program.run();
    Floats old = numbers(kRows * kColumns, 0);
    Floats now = WithState::scattered(2);
    for (float& v : old) v = -v;
    for (float& v : now) v = -v;
    EXPECT_EQ(program.read(before), old);
    EXPECT_EQ(program.read(behind), now);
}

TEST(State, RowsPutIntoACacheOfBlocksAreQuantisedWhereItStands) {
    constexpr int64_t kBlock = 32, kBytes = 34;
    Device device;
    Graph g;
    const uint32_t cache = g.bound_bytes(BP_ROLE_STATE, {1, 3, kBlock}, BP_Q8_0, std::vector<std::byte>(3 * kBytes));
    Floats row(kBlock);
    for (size_t i = 0; i < row.size(); ++i) row[i] = 127.0F - 8 * static_cast<float>(i);
    const int64_t at = 1;
    std::vector<std::byte> position(sizeof at);
    std::memcpy(position.data(), &at, sizeof at);
    const uint32_t next = g.add(BP_OP_tensor_scatter,
                                {cache, g.input({1, 1, kBlock}, row), g.bound_bytes(BP_ROLE_INPUT, {1}, BP_I64, position)},
                                {1, 3, kBlock}, {integer(BP_ATTR_axis, 1)}, BP_Q8_0);
    g.tensors_[next].role = BP_ROLE_STATE;
    g.tensors_[next].state_in = 1 + cache;
    const uint32_t behind = g.add(BP_OP_cast, {next}, {1, 3, kBlock}, {integer(BP_ATTR_to, BP_F32)});
    g.output(behind);
    Program program(device, g);
    EXPECT_EQ(program.info.moved_bytes, static_cast<uint64_t>(kBytes));
    program.run();
    Floats whole(3 * kBlock);
    std::copy(row.begin(), row.end(), whole.begin() + kBlock);
    EXPECT_EQ(program.read(behind), whole);
}

TEST(State, WhoReadsTheOldContentLaterCostsACopyAndIsRight) {
    Device device;
    WithState g;
    g.update(g.scatter(2));
    const uint32_t late = g.add(BP_OP_neg, {g.state}, {1, kRows, kColumns});
    g.output(late);
    Program program(device, g);
    EXPECT_EQ(program.info.moved_bytes, 2 * kState + kColumns * 4U) << "there, the row, and back";
    program.run();
    Floats old = numbers(kRows * kColumns, 0);
    for (float& v : old) v = -v;
    EXPECT_EQ(program.read(late), old);
    EXPECT_EQ(program.read(g.state), WithState::scattered(2));
}

TEST(State, AViewOfTheOldContentIsARead) {
    Device device;
    WithState g;
    const uint32_t flat = g.add(BP_OP_reshape, {g.state}, {kRows * kColumns}, {list(BP_ATTR_shape, {kRows * kColumns})});
    g.update(g.scatter(2));
    const uint32_t late = g.add(BP_OP_neg, {flat}, {kRows * kColumns});
    g.output(late);
    Program program(device, g);
    program.run();
    Floats old = numbers(kRows * kColumns, 0);
    for (float& v : old) v = -v;
    EXPECT_EQ(program.read(late), old);
    EXPECT_EQ(program.read(g.state), WithState::scattered(2));
}

TEST(State, ElementWiseUpdatesNeedNoCopy) {
    Device device;
    WithState g;
    const uint32_t x = g.input({1, kRows, kColumns}, Floats(kRows * kColumns, 0.5F));
    g.update(g.add(BP_OP_add, {g.state, x}, {1, kRows, kColumns}));
    Program program(device, g);
    EXPECT_EQ(program.info.moved_bytes, 0U);
    program.run();
    program.run();
    Floats expected = numbers(kRows * kColumns, 1);
    EXPECT_EQ(program.read(g.state), expected);
}

TEST(State, AStateThatIsShiftedByItsOwnRowsIsRight) {
    Device device;
    WithState g;
    const uint32_t rest = g.add(BP_OP_slice, {g.state}, {1, kRows - 1, kColumns},
                                {list(BP_ATTR_starts, {0, 1, 0}), list(BP_ATTR_ends, {1, kRows, kColumns})});
    const uint32_t row = g.input({1, 1, kColumns}, Floats(kColumns, -1));
    g.update(g.add(BP_OP_concat, {rest, row}, {1, kRows, kColumns}, {integer(BP_ATTR_axis, 1)}));
    Program program(device, g);
    program.run();
    Floats expected = numbers(kRows * kColumns, kColumns);
    std::fill_n(expected.end() - kColumns, kColumns, -1.0F);
    EXPECT_EQ(program.read(g.state), expected);
}

TEST(State, AnUpdateMadeOfTheStateItselfIsRight) {
    Device device;
    WithState g;
    // Turned round: each element is read from another place than it is written to.
    const uint32_t turned = g.add(BP_OP_transpose, {g.state}, {1, kColumns, kRows}, {list(BP_ATTR_perm, {0, 2, 1})});
    g.update(g.add(BP_OP_reshape, {turned}, {1, kRows, kColumns}, {list(BP_ATTR_shape, {1, kRows, kColumns})}));
    Program program(device, g);
    program.run();
    Floats expected(kRows * kColumns);
    for (int64_t c = 0; c < kColumns; ++c)
        for (int64_t r = 0; r < kRows; ++r)
            expected[static_cast<size_t>(c * kRows + r)] = static_cast<float>(r * kColumns + c);
    EXPECT_EQ(program.read(g.state), expected);
}

TEST(Uses, SlotsSayTheFirstAndTheLastStepThatTouchesThem) {
    Device device;
    Graph g;
    const uint32_t x = g.input({64}, numbers(64, 0));
    const uint32_t b = g.input({64}, numbers(64, 1));
    const uint32_t sum = g.add(BP_OP_add, {x, b}, {64});
    const uint32_t twice = g.add(BP_OP_mul, {sum, b}, {64});
    g.output(twice);
    const Program program(device, g);
    for (uint32_t i = 0; i < program.info.slots.count; ++i) {
        const bp_slot& slot = *BP_AT(bp_slot, &program.info.slots, i);
        EXPECT_EQ(slot.first_use, slot.tensor == twice ? 2U : 1U) << slot.tensor;
        EXPECT_EQ(slot.last_use, slot.tensor == x ? 1U : 2U) << slot.tensor;
    }
}
