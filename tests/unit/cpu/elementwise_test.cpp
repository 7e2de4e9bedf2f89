#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "harness.hpp"
#include "levels.hpp"

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

// Whole vectors begin at a line of the result, wherever it begins: nothing is done twice, in place either, and nothing beside it is written.
TEST_P(Elementwise, ResultsBeginAnywhere) {
    const backplane::cpu::ElementwiseKernels kernels = backplane::cpu::choose_level(GetParam()).kernels.elementwise;
    constexpr size_t kRoom = 400;
    const Floats x = random_floats(kRoom, 1);
    for (size_t offset = 0; offset < 17; ++offset)
        for (const size_t n : {size_t{1}, size_t{63}, size_t{127}, size_t{129}, size_t{300}}) {
            alignas(64) std::array<float, kRoom> room{};
            const auto fill = [&] {
                for (size_t i = 0; i < kRoom; ++i) room[i] = x[i];
            };
            const auto check = [&](const char* what, auto want) {
                for (size_t i = 0; i < kRoom; ++i) {
                    const bool inside = i >= offset && i < offset + n;
                    ASSERT_EQ(room[i], inside ? want(i) : x[i]) << what << ", " << n << " from " << offset << ", at " << i;
                }
            };
            const auto count = static_cast<int64_t>(n);
            fill();
            kernels.unary[BP_OP_neg](room.data() + offset, room.data() + offset, count, 0, 0);
            check("Neg", [&](size_t i) { return -x[i]; });
            fill();
            kernels.binary[BP_OP_add](room.data() + offset, 1, x.data() + offset, 1, room.data() + offset, count);
            check("Add", [&](size_t i) { return x[i] + x[i]; });
            fill();
            kernels.binary[BP_OP_sub](room.data() + offset, 1, x.data(), 0, room.data() + offset, count);
            check("Sub", [&](size_t i) { return x[i] - x[0]; });
        }
}

// Eight units of the larger of x and result, wherever pieces of an approximation meet, and beyond where 1 + erf is 0 or 2.
TEST_P(Elementwise, GeluIsWithinItsBoundEverywhere) {
    const backplane::cpu::ElementwiseKernels kernels = backplane::cpu::choose_level(GetParam()).kernels.elementwise;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    Floats x{0, -0.0F, 1e-40F, -1e-30F, 1e-10F, -1e-10F, 100, -100, 1e30F, -1e30F, kInfinity, -kInfinity, std::nanf("")};
    for (int i = -20000; i <= 20000; ++i) x.push_back(static_cast<float>(i) / 2500);
    Floats got(x.size());
    kernels.unary[BP_OP_gelu](x.data(), got.data(), static_cast<int64_t>(x.size()), 0, 0);
    for (size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(x[i])) {
            EXPECT_TRUE(std::isnan(got[i]));
        } else if (std::isinf(x[i])) {
            EXPECT_EQ(got[i], x[i] > 0 ? kInfinity : 0);
        } else {
            const double want = 0.5 * x[i] * std::erfc(-x[i] / std::sqrt(2.0));
            ASSERT_NEAR(got[i], want, 8 * 0x1p-24 * std::fabs(x[i]) + 0x1p-140) << x[i];
        }
    }
}

TEST_P(Elementwise, MaskPicksAWeakerInstructionSet) {
    Device device({GetParam(), "1"});
    if (!GetParam().empty()) {
        EXPECT_EQ(device.level().find(GetParam()), std::string::npos) << device.level();
    }
}

TEST_P(Elementwise, AGatedUnitIsOneStepThatReadsItsTensorOnce) {
    Device device({GetParam(), "2"});
    for (const bool second : {false, true}) {
        Graph g;
        const Floats x = random_floats(9 * 2 * 37, 5, 3.0F);
        const auto in = g.input({9, 74}, x);
        const auto half = [&](int64_t first) {
            return g.add(
                BP_OP_slice, {in}, {9, 37},
                {list(BP_ATTR_starts, {0, first}), list(BP_ATTR_ends, {9, first + 37}), list(BP_ATTR_steps, {1, 1})});
        };
        const auto gate = g.add(BP_OP_silu, {half(second ? 37 : 0)}, {9, 37});
        const auto y = g.add(BP_OP_mul, {half(second ? 0 : 37), gate}, {9, 37});
        g.output(y);
        Program p(device, g);
        EXPECT_NE(std::string(p.info.summary).find("Mul by Silu"), std::string::npos) << p.info.summary;
        EXPECT_EQ(p.info.kernels, 1U) << p.info.summary;
        EXPECT_EQ(p.info.workspace_bytes, 0U);
        p.run();
        const Floats got = p.read(y);
        for (size_t i = 0; i < got.size(); ++i) {
            const float* row = x.data() + i / 37 * 74 + i % 37;
            const float gated = row[second ? 37 : 0];
            ASSERT_NEAR(got[i], row[second ? 0 : 37] * gated / (1 + std::exp(-gated)), 1e-5) << i;
        }
    }
}
