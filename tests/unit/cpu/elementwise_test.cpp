#include <gtest/gtest.h>

#include <cmath>

#include "harness.hpp"

using namespace harness;

class Elementwise : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Levels, Elementwise, testing::ValuesIn(masks()));

TEST_P(Elementwise, BroadcastsAPerChannelOperandAndAddsAWholeOne) {
    Device device({GetParam(), "2"});
    Graph g;
    const Floats x = random_floats(2 * 5 * 3 * 7, 1);
    const Floats c = random_floats(5, 2);
    const auto a = g.input({2, 5, 3, 7}, x);
    const auto s = g.input({5, 1, 1}, c);
    const auto m = g.add(BP_OP_mul, {a, s}, {2, 5, 3, 7});
    const auto r = g.add(BP_OP_relu, {m}, {2, 5, 3, 7});
    const auto y = g.add(BP_OP_add, {r, a}, {2, 5, 3, 7});
    g.output(y);
    Program p(device, g);
    p.run();
    const Floats got = p.read(y);
    for (size_t i = 0; i < got.size(); ++i) {
        const float want = std::max(0.0f, x[i] * c[i / 21 % 5]) + x[i];
        ASSERT_FLOAT_EQ(got[i], want) << i;
    }
}

TEST_P(Elementwise, MaskPicksAWeakerInstructionSet) {
    Device device({GetParam(), "1"});
    if (!GetParam().empty()) {
        EXPECT_EQ(device.level().find(GetParam()), std::string::npos) << device.level();
    }
}
