// Which maps lie in bundles (Value::bundled), and what reads them.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "common/gpu/kernel_words.hpp"
#include "graph_maker.hpp"
#include "kernels_generated.h"

namespace backplane::gpu {
namespace {

Abilities warpgroups() {
    Abilities can;
    can.halves = can.bytes = can.longs = true;
    can.most_range = 1 << 30;
    can.most_invocations = 1024;
    can.shared_bytes = 98304;
    can.matrix_tiles = can.warpgroups = true;
    return can;
}

constexpr int64_t kHeight = 256, kWidth = 512;

// A chain of convolutions of one picture, of halves.
class Network {
public:
    uint32_t input(int64_t channels) { return g_.tensor(BP_ROLE_INPUT, {1, channels, kHeight, kWidth}, BP_F16); }
    uint32_t map(int64_t channels, uint32_t role = BP_ROLE_TEMPORARY) {
        return g_.tensor(role, {1, channels, kHeight, kWidth}, BP_F16);
    }
    uint32_t conv(uint32_t x, int64_t in, int64_t out, int64_t kernel, uint32_t role = BP_ROLE_TEMPORARY) {
        const uint32_t w = g_.tensor(BP_ROLE_WEIGHT, {out, in, kernel, kernel}, BP_F16);
        const uint32_t y = map(out, role);
        pads_.push_back(std::make_unique<std::vector<int64_t>>(4, kernel / 2));
        g_.node(BP_OP_conv, {x, w}, y, {list(BP_ATTR_pads, *pads_.back())});
        return y;
    }
    uint32_t join(const std::vector<uint32_t>& parts, int64_t channels) {
        const uint32_t y = map(channels);
        g_.node(BP_OP_concat, parts, y, {integer(BP_ATTR_axis, 1)});
        return y;
    }
    uint32_t of(uint32_t op, const std::vector<uint32_t>& in, int64_t channels, uint32_t role = BP_ROLE_TEMPORARY) {
        const uint32_t y = map(channels, role);
        g_.node(op, in, y);
        return y;
    }
    Plan plan(const Abilities& can) { return g_.plan(can); }

private:
    GraphMaker g_;
    std::vector<std::unique_ptr<std::vector<int64_t>>> pads_;
};

using Kernels = std::vector<uint32_t>;

Kernels kernels_of(const Plan& plan) {
    Kernels kernels;
    for (const Dispatch& d : plan.dispatches) kernels.push_back(d.kernel);
    return kernels;
}

// Of a dispatch of either kernel: is the result in bundles?
bool makes_bundles(const Dispatch& d) { return d.constants[5] != 0; }

constexpr uint32_t kPlanes = kKernel_conv_warpgroup_f16, kBundles = kKernel_conv_warpgroup_bundles_f16;

TEST(Bundles, AreMapsBetweenConvolutionsAndWhatIsBoundLiesInPlanes) {
    Network net;
    const uint32_t first = net.conv(net.input(3), 3, 64, 3);
    const uint32_t second = net.of(BP_OP_relu, {net.conv(first, 64, 64, 3)}, 64);
    net.conv(net.conv(second, 64, 64, 5), 64, 32, 1, BP_ROLE_OUTPUT);
    const Plan plan = net.plan(warpgroups());
    ASSERT_EQ(kernels_of(plan), (Kernels{kPlanes, kBundles, kBundles, kBundles}));
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(makes_bundles(plan.dispatches[i])) << i;
    EXPECT_FALSE(makes_bundles(plan.dispatches[3]));
    EXPECT_EQ(plan.dispatches[1].constants[7], 1U) << "all of a pixel is in the first operand";
    EXPECT_EQ(plan.dispatches[1].groups[0], 132U);
}

TEST(Bundles, AreNoMapsThatSomethingElseReadsOrThatNoKernelTakesSo) {
    const Abilities can = warpgroups();
    const auto kernels = [&](const std::function<void(Network&, uint32_t)>& rest) {
        Network net;
        rest(net, net.conv(net.input(16), 16, 64, 3));
        return kernels_of(net.plan(can));
    };
    EXPECT_EQ(kernels([](Network& net, uint32_t x) { net.conv(x, 64, 64, 3, BP_ROLE_OUTPUT); }),
              (Kernels{kPlanes, kBundles}));
    const auto also_sigmoid = [](Network& net, uint32_t x) {
        net.conv(x, 64, 64, 3, BP_ROLE_OUTPUT);
        net.of(BP_OP_sigmoid, {x}, 64, BP_ROLE_OUTPUT);
    };
    const Kernels others = kernels(also_sigmoid);
    EXPECT_EQ(std::count(others.begin(), others.end(), kBundles), 0);
    EXPECT_EQ(kernels([](Network& net, uint32_t x) { net.conv(x, 64, 64, 7, BP_ROLE_OUTPUT); })[0], kPlanes);
    Network few;
    few.conv(few.conv(few.input(16), 16, 32, 3), 32, 64, 3, BP_ROLE_OUTPUT);
    EXPECT_EQ(kernels_of(few.plan(can)), (Kernels{kPlanes, kPlanes})) << "half a bundle";
    Abilities without = can;
    without.warpgroups = false;
    Network old;
    old.conv(old.conv(old.input(16), 16, 64, 3), 64, 64, 3, BP_ROLE_OUTPUT);
    const Kernels tiles = kernels_of(old.plan(without));
    EXPECT_EQ(std::count(tiles.begin(), tiles.end(), kBundles), 0);
}

TEST(Bundles, OfWhatIsAddedLieAsTheResultDoes) {
    Network net;
    const uint32_t x = net.conv(net.input(64), 64, 64, 3);
    const uint32_t inner = net.of(BP_OP_add, {net.conv(x, 64, 64, 3), x}, 64);
    net.of(BP_OP_add, {net.conv(inner, 64, 64, 3), inner}, 64, BP_ROLE_OUTPUT);
    const Plan plan = net.plan(warpgroups());
    // `inner` is added to what is bound, so it lies in planes, and what is added to it too.
    EXPECT_EQ(kernels_of(plan), (Kernels{kPlanes, kPlanes, kPlanes}));
    for (const Dispatch& d : plan.dispatches) EXPECT_FALSE(makes_bundles(d));
}

TEST(Bundles, OfTwoMapsThatOneConvolutionReadsJoinedAreReadWhereTheyAre) {
    Network net;
    const uint32_t x = net.conv(net.input(3), 3, 64, 3);
    const uint32_t y = net.conv(x, 64, 64, 3);
    const uint32_t z = net.conv(net.join({x, y}, 128), 128, 64, 1);
    net.conv(net.join({x, z}, 128), 128, 32, 3, BP_ROLE_OUTPUT);
    const Plan plan = net.plan(warpgroups());
    ASSERT_EQ(kernels_of(plan), (Kernels{kPlanes, kBundles, kBundles, kBundles})) << "nothing is copied";
    EXPECT_EQ(plan.dispatches[2].constants[7], 2U) << "these stand together: one operand has both";
    const Dispatch& last = plan.dispatches[3];
    EXPECT_EQ(last.constants[7], 1U);
    ASSERT_EQ(last.operands.size(), 7U);
    EXPECT_EQ(last.operands[0].value, x);
    EXPECT_EQ(last.operands[5].value, z);
}

TEST(Bundles, AreMadeOfPlanesWhereKernelsAreWantedWhereverTheyAreRight) {
    Network net;
    net.conv(net.input(64), 64, 24, 3, BP_ROLE_OUTPUT);
    Abilities can = warpgroups();
    can.least_patches = 0;
    const Plan plan = net.plan(can);
    EXPECT_EQ(kernels_of(plan), (Kernels{kKernel_copy_2, kBundles}));
}

}  // namespace
}  // namespace backplane::gpu
