#include <gtest/gtest.h>

#include <cmath>

#include "convolutions.hpp"

using namespace harness;

namespace {

// Largest difference over the largest magnitude.
double difference(const Floats& got, const std::vector<double>& want) {
    double most = 0;
    double scale = 1e-30;
    for (size_t i = 0; i < want.size(); ++i) {
        most = std::max(most, std::abs(got[i] - want[i]));
        scale = std::max(scale, std::abs(want[i]));
    }
    return most / scale;
}

const std::vector<Case> cases = {
    {1, 3, 9, 11, 64, 3, 3, 1, 1, 1, 1},   {2, 64, 13, 17, 64, 3, 3, 1, 1, 1, 1},  {1, 64, 9, 10, 64, 5, 5, 1, 2, 1, 1},
    {1, 17, 8, 8, 33, 3, 3, 1, 1, 1, 1},   {1, 32, 5, 7, 12, 3, 3, 1, 1, 1, 1},    {1, 12, 5, 5, 3, 3, 3, 1, 1, 1, 1},
    {1, 128, 6, 5, 64, 1, 1, 1, 0, 1, 1},  {1, 8, 9, 9, 16, 3, 3, 2, 1, 1, 1},     {1, 8, 9, 9, 16, 3, 3, 1, 2, 2, 1},
    {1, 8, 9, 9, 16, 3, 2, 1, 0, 1, 4},    {1, 19, 9, 9, 19, 3, 3, 1, 1, 1, 19},   {1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1},
    {1, 19, 9, 23, 19, 3, 3, 1, 1, 1, 19}, {2, 33, 7, 30, 33, 5, 3, 2, 2, 1, 33},  {1, 16, 6, 40, 16, 3, 3, 1, 2, 2, 16},
    {1, 5, 2, 2, 5, 3, 3, 1, 1, 1, 5},     {1, 64, 11, 9, 9, 3, 3, 1, 1, 1, 1},    {1, 16, 4, 4, 16, 3, 3, 1, 0, 1, 1},
    {1, 20, 7, 9, 130, 1, 1, 1, 0, 1, 1},  {3, 16, 6, 6, 100, 3, 3, 1, 1, 1, 1},   {2, 20, 9, 13, 70, 1, 1, 1, 0, 1, 1},
    {1, 5, 11, 37, 2, 1, 1, 1, 0, 1, 1},   {1, 200, 5, 31, 101, 1, 1, 1, 0, 1, 1}, {1, 3, 8, 9, 4, 1, 1, 1, 1, 1, 1},
    {2, 3, 70, 150, 3, 5, 3, 1, 1, 1, 3},  {1, 2, 1, 2100, 2, 1, 9, 1, 4, 1, 2},   {1, 3, 67, 40, 3, 3, 7, 1, 9, 2, 3},
    {2, 4, 3, 2, 4, 1, 1, 1, 0, 1, 4},     {1, 70, 9, 72, 97, 1, 1, 1, 0, 1, 1},
};

}  // namespace

class Conv : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Levels, Conv, testing::ValuesIn(masks()));

TEST_P(Conv, AgreesWithFloat64InEveryAlgorithmAndShape) {
    Device device({GetParam(), "2"});
    for (const uint32_t math : {uint32_t{BP_MATH_DEFAULT}, uint32_t{BP_MATH_STRICT}})
        for (size_t i = 0; i < cases.size(); ++i) {
            const Case& k = cases[i];
            Graph g;
            const Floats x = random_floats(k.n * k.c * k.h * k.w, 1);
            const Floats w = random_floats(k.o * (k.c / k.group) * k.kh * k.kw, 2);
            const Floats b = random_floats(k.o, 3);
            const int64_t oh = (k.h + 2 * k.pad - k.dilation * (k.kh - 1) - 1) / k.stride + 1;
            const int64_t ow = (k.w + 2 * k.pad - k.dilation * (k.kw - 1) - 1) / k.stride + 1;
            const auto y =
                g.add(BP_OP_conv,
                      {g.input({k.n, k.c, k.h, k.w}, x),
                       i % 2 != 0 ? g.weight({k.o, k.c / k.group, k.kh, k.kw}, w)
                                  : g.constant({k.o, k.c / k.group, k.kh, k.kw}, w),
                       g.weight({k.o}, b)},
                      {k.n, k.o, oh, ow},
                      {list(BP_ATTR_strides, {k.stride, k.stride}), list(BP_ATTR_pads, {k.pad, k.pad, k.pad, k.pad}),
                       list(BP_ATTR_dilations, {k.dilation, k.dilation}), integer(BP_ATTR_group, k.group)});
            g.output(y);
            Program p(device, g, math);
            p.run();
            EXPECT_LT(difference(p.read(y), naive(k, x, w, b, oh, ow)), math == BP_MATH_STRICT ? 3e-6 : 2e-5)
                << "case " << i << "\n"
                << p.info.summary;
        }
}

TEST_P(Conv, FusesBiasActivationScaleAndResidualAndReadsAConcatenationInPlace) {
    Device device({GetParam(), "2"});
    Graph g;
    const Case k{1, 48, 9, 10, 32, 3, 3, 1, 1, 1, 1};
    const Floats x1 = random_floats(32 * 90, 1);
    const Floats x2 = random_floats(16 * 90, 2);
    const Floats w = random_floats(32 * 48 * 9, 3);
    const Floats b = random_floats(32, 4);
    const auto a1 = g.input({1, 32, 9, 10}, x1);
    const auto a2 = g.input({1, 16, 9, 10}, x2);
    const auto cat = g.add(BP_OP_concat, {a1, a2}, {1, 48, 9, 10}, {integer(BP_ATTR_axis, 1)});
    const auto c = g.add(BP_OP_conv, {cat, g.weight({32, 48, 3, 3}, w), g.weight({32}, b)}, {1, 32, 9, 10},
                         {list(BP_ATTR_pads, {1, 1, 1, 1})});
    const auto r = g.add(BP_OP_relu, {c}, {1, 32, 9, 10});
    const auto s = g.add(BP_OP_mul, {r, g.constant({}, {0.2f})}, {1, 32, 9, 10});
    const auto y = g.add(BP_OP_add, {s, a1}, {1, 32, 9, 10});
    g.output(y);
    Program p(device, g);
    p.run();
    Floats joined = x1;
    joined.insert(joined.end(), x2.begin(), x2.end());
    auto want = naive(k, joined, w, b, 9, 10);
    for (size_t i = 0; i < want.size(); ++i) want[i] = std::max(0.0, want[i]) * 0.2f + double{x1[i]};
    EXPECT_LT(difference(p.read(y), want), 2e-5);
    Program strict(device, g, BP_MATH_STRICT);
    strict.run();
    EXPECT_LT(difference(strict.read(y), want), 3e-6);
    EXPECT_EQ(std::string(p.info.summary).find("Concat"), std::string::npos) << p.info.summary;
}

TEST_P(Conv, KeepsAnIntermediateThatIsAlsoAnOutputOrReadTwice) {
    Device device({GetParam(), "1"});
    Graph g;
    const Case k{1, 4, 5, 5, 4, 3, 3, 1, 1, 1, 1};
    const Floats x = random_floats(100, 1);
    const Floats w = random_floats(4 * 4 * 9, 3);
    const auto in = g.input({1, 4, 5, 5}, x);
    const auto c = g.add(BP_OP_conv, {in, g.weight({4, 4, 3, 3}, w)}, {1, 4, 5, 5}, {list(BP_ATTR_pads, {1, 1, 1, 1})});
    const auto r = g.add(BP_OP_relu, {c}, {1, 4, 5, 5});
    const auto y = g.add(BP_OP_add, {r, c}, {1, 4, 5, 5});
    g.output(c);
    g.output(y);
    Program p(device, g);
    p.run();
    auto want = naive(k, x, w, Floats(4), 5, 5);
    EXPECT_LT(difference(p.read(c), want), 1e-5);
    for (double& v : want) v += std::max(0.0, v);
    EXPECT_LT(difference(p.read(y), want), 1e-5);
}

TEST_P(Conv, ReadsRowMajorMapsAsTheyAreAndStaysChannelsLastBehindFiltersThatWantIt) {
    Device device({GetParam(), "2"});
    const Floats x = random_floats(int64_t{2} * 6 * 9 * 11, 1);
    const Floats b = random_floats(6, 3);
    for (const bool depthwise : {false, true}) {
        const Case k = depthwise ? Case{2, 6, 9, 11, 6, 3, 3, 1, 1, 1, 6} : Case{2, 6, 9, 11, 6, 1, 1, 1, 0, 1, 1};
        const Dims map{2, 6, 9, 11};
        const Floats w = random_floats(k.o * (k.c / k.group) * k.kh * k.kw, 2);
        const std::vector<Attribute> how{list(BP_ATTR_pads, {k.pad, k.pad, k.pad, k.pad}), integer(BP_ATTR_group, k.group)};
        Graph g;
        const auto in = g.input(map, x);
        const auto c = g.add(BP_OP_conv, {in, g.weight({k.o, k.c / k.group, k.kh, k.kw}, w), g.weight({k.o}, b)}, map, how);
        const auto y = g.add(BP_OP_add, {g.add(BP_OP_relu, {c}, map), in}, map);
        g.output(y);
        Program p(device, g);
        p.run();
        auto want = naive(k, x, w, b, 9, 11);
        for (size_t i = 0; i < want.size(); ++i) want[i] = std::max(0.0, want[i]) + double{x[i]};
        EXPECT_LT(difference(p.read(y), want), 1e-5);
        const std::string rows = p.info.summary;
        EXPECT_NE(rows.find(depthwise ? "by planes" : "by pixels"), std::string::npos) << rows;
        EXPECT_EQ(rows.find("relayout"), std::string::npos) << rows;

        Graph network;  // 3x3, then the same
        const Case first{2, 6, 9, 11, 6, 3, 3, 1, 1, 1, 1};
        const Floats v = random_floats(6 * 6 * 9, 4);
        const auto made = network.add(BP_OP_conv, {network.input(map, x), network.weight({6, 6, 3, 3}, v)}, map,
                                      {list(BP_ATTR_pads, {1, 1, 1, 1})});
        const auto z = network.add(
            BP_OP_conv, {made, network.weight({k.o, k.c / k.group, k.kh, k.kw}, w), network.weight({k.o}, b)}, map, how);
        network.output(z);
        Program q(device, network);
        q.run();
        const auto between = naive(first, x, v, Floats(6), 9, 11);
        EXPECT_LT(difference(q.read(z), naive(k, Floats(between.begin(), between.end()), w, b, 9, 11)), 1e-5);
        const std::string last = q.info.summary;
        EXPECT_EQ(last.find(" by p"), std::string::npos) << last;
    }
}

// More pixels than one thread takes at a time, and a panel of them that is not whole; more planes than a part of the depth, and a concatenation;
// fewer filters than a tile has rows.
// What is beside a plane in memory is none of it: the planes on both sides have no numbers.
TEST_P(Conv, ByPlanesReadsNothingBesideItsPlane) {
    Device device({GetParam(), "1"});
    for (const int64_t h : {1, 3, 4, 5, 9})
        for (const int64_t w : {1, 2, 15, 17, 64, 66, 130})
            for (const int64_t kw : {1, 3, 8}) {
                const int64_t pad = kw / 2, oh = h, ow = w + 2 * pad - kw + 1;
                if (ow < 1) continue;
                const Floats plane = random_floats(h * w, 1), weight = random_floats(3 * kw, 2);
                const Floats beside(plane.size(), std::nanf(""));
                Floats x = beside, weights;
                x.insert(x.end(), plane.begin(), plane.end());
                x.insert(x.end(), beside.begin(), beside.end());
                for (int i = 0; i < 3; ++i) weights.insert(weights.end(), weight.begin(), weight.end());
                Graph g;
                const auto y = g.add(BP_OP_conv, {g.input({1, 3, h, w}, x), g.weight({3, 1, 3, kw}, weights)},
                                     {1, 3, oh, ow}, {list(BP_ATTR_pads, {1, pad, 1, pad}), integer(BP_ATTR_group, 3)});
                g.output(y);
                Program p(device, g);
                p.run();
                const Floats got = p.read(y);
                for (int64_t i = 0; i < oh; ++i)
                    for (int64_t j = 0; j < ow; ++j) {
                        double sum = 0;
                        for (int64_t ky = 0; ky < 3; ++ky)
                            for (int64_t kx = 0; kx < kw; ++kx) {
                                const int64_t r = i + ky - 1, c = j + kx - pad;
                                if (r < 0 || r >= h || c < 0 || c >= w) continue;
                                sum += double{plane[static_cast<size_t>(r * w + c)]} *
                                       double{weight[static_cast<size_t>(ky * kw + kx)]};
                            }
                        ASSERT_NEAR(got[static_cast<size_t>((oh + i) * ow + j)], sum, 1e-5)
                            << h << " x " << w << ", 3 x " << kw << ", row " << i << " column " << j;
                    }
            }
}

TEST_P(Conv, ByPixelsGoesFromPanelToPanel) {
    Device device({GetParam(), "2"});
    struct Size {
        int64_t channels, height, width, filters;
    };
    for (const Size& size :
         {Size{5, 130, 131, 7}, Size{141, 9, 37, 70}, Size{130, 7, 29, 2}, Size{3, 6, 11, 13}, Size{128, 67, 67, 23}})
        for (const int64_t first : {int64_t{0}, size.channels - 2}) {
            const int64_t pixels = size.height * size.width;
            const Floats x = random_floats(size.channels * pixels, 1);
            const Floats w = random_floats(size.filters * size.channels, 2);
            const Floats b = random_floats(size.filters, 3);
            const auto map = [&](int64_t channels) { return Dims{1, channels, size.height, size.width}; };
            Graph g;
            auto in = first == 0 ? g.input(map(size.channels), x) : 0;
            if (first != 0) {
                const auto end = x.begin() + first * pixels;
                const auto one = g.input(map(first), Floats(x.begin(), end));
                const auto two = g.input(map(2), Floats(end, x.end()));
                in = g.add(BP_OP_concat, {one, two}, map(size.channels), {integer(BP_ATTR_axis, 1)});
            }
            const auto c =
                g.add(BP_OP_conv, {in, g.weight({size.filters, size.channels, 1, 1}, w), g.weight({size.filters}, b)},
                      map(size.filters));
            g.output(c);
            Program p(device, g);
            EXPECT_NE(std::string(p.info.summary).find("by pixels"), std::string::npos) << p.info.summary;
            p.run();
            const Case k{1, size.channels, size.height, size.width, size.filters, 1, 1, 1, 0, 1, 1};
            EXPECT_LT(difference(p.read(c), naive(k, x, w, b, size.height, size.width)), 1e-5)
                << size.channels << " planes of " << size.height << " x " << size.width << " to " << size.filters;
        }
}

// By one thread in stretches of pixels, long ones of few planes to more filters, by more threads in panels: numbers do not depend on it, nor does what
// follows.
TEST_P(Conv, ByPixelsIsTheSameOnAnyNumberOfThreads) {
    struct Size {
        int64_t channels, height, width, filters;
    };
    for (const Size& size : {Size{3, 1, 200, 4}, Size{5, 130, 131, 7}, Size{9, 30, 31, 70}, Size{64, 64, 49, 11},
                             Size{65, 40, 40, 33}, Size{141, 29, 37, 70}, Size{1030, 20, 11, 5}}) {
        const Dims map{2, size.channels, size.height, size.width}, out{2, size.filters, size.height, size.width};
        const int64_t pixels = size.height * size.width;
        const Floats x = random_floats(2 * size.channels * pixels, 1), w = random_floats(size.filters * size.channels, 2);
        const Floats b = random_floats(size.filters, 3), rest = random_floats(2 * size.filters * pixels, 4);
        const Case k{2, size.channels, size.height, size.width, size.filters, 1, 1, 1, 0, 1, 1};
        auto want = naive(k, x, w, b, size.height, size.width);
        for (size_t i = 0; i < want.size(); ++i) want[i] = std::max(0.0, want[i]) + double{rest[i]};
        const auto run = [&](const char* threads) {
            Device device({GetParam(), threads});
            Graph g;
            const auto c =
                g.add(BP_OP_conv,
                      {g.input(map, x), g.weight({size.filters, size.channels, 1, 1}, w), g.weight({size.filters}, b)}, out);
            const auto y = g.add(BP_OP_add, {g.add(BP_OP_relu, {c}, out), g.input(out, rest)}, out);
            g.output(y);
            Program p(device, g);
            EXPECT_NE(std::string(p.info.summary).find("by pixels"), std::string::npos) << p.info.summary;
            p.run();
            return p.read(y);
        };
        const Floats one = run("1");
        EXPECT_LT(difference(one, want), 2e-5) << size.channels << " planes of " << pixels << " to " << size.filters;
        for (const char* threads : {"2", "7"})
            EXPECT_EQ(run(threads), one) << threads << " threads, " << size.channels << " planes of " << pixels;
    }
}

// Behind a convolution that wants its maps channels-last, of more channels than a part of the depth: all that is one product, with what follows.
TEST_P(Conv, OfOnePixelBehindAnotherIsAProduct) {
    Device device({GetParam(), "2"});
    for (const int64_t filters : {70, 5}) {
        const Case first{2, 141, 17, 13, 141, 3, 3, 2, 1, 1, 141};
        const Case second{2, 141, 9, 7, filters, 1, 1, 1, 0, 1, 1};
        const Dims map{2, 141, 9, 7}, out{2, filters, 9, 7};
        const Floats x = random_floats(int64_t{2} * 141 * 17 * 13, 1), v = random_floats(141 * 9, 2);
        const Floats w = random_floats(filters * 141, 3), b = random_floats(filters, 4),
                     rest = random_floats(2 * filters * 63, 5);
        Graph g;
        const auto made =
            g.add(BP_OP_conv, {g.input({2, 141, 17, 13}, x), g.weight({141, 1, 3, 3}, v)}, map,
                  {list(BP_ATTR_strides, {2, 2}), list(BP_ATTR_pads, {1, 1, 1, 1}), integer(BP_ATTR_group, 141)});
        const auto c = g.add(BP_OP_conv, {made, g.weight({filters, 141, 1, 1}, w), g.weight({filters}, b)}, out);
        const auto y = g.add(BP_OP_add, {g.add(BP_OP_relu, {c}, out), g.input(out, rest)}, out);
        g.output(y);
        Program p(device, g);
        EXPECT_NE(std::string(p.info.summary).find("Conv product"), std::string::npos) << p.info.summary;
        p.run();
        const auto between = naive(first, x, v, Floats(141), 9, 7);
        auto want = naive(second, Floats(between.begin(), between.end()), w, b, 9, 7);
        for (size_t i = 0; i < want.size(); ++i) want[i] = std::max(0.0, want[i]) + double{rest[i]};
        EXPECT_LT(difference(p.read(y), want), 1e-5) << filters << " filters";
    }
}

// A map of so few pixels that threads share its channels: what each does depends on no number of them.
TEST_P(Conv, OfAFewPixelsIsTheSameOnAnyNumberOfThreads) {
    for (const bool depthwise : {false, true}) {
        const int64_t groups = depthwise ? 210 : 2;
        const Case k{1, 210, 3, 11, depthwise ? 210 : 330, 3, 3, 1, 1, 1, groups};
        const Floats x = random_floats(k.c * 33, 1);
        const Floats w = random_floats(k.o * (k.c / groups) * 9, 2);
        const Floats b = random_floats(k.o, 3);
        const auto run = [&](const char* threads) {
            Device device({GetParam(), threads});
            Graph g;
            // Behind a convolution that wants its channels last.
            const Floats one = random_floats(k.c * k.c * 9, 4);
            const auto before = g.add(BP_OP_conv, {g.input({1, k.c, 3, 11}, x), g.weight({k.c, k.c, 3, 3}, one)},
                                      {1, k.c, 3, 11}, {list(BP_ATTR_pads, {1, 1, 1, 1})});
            const auto y = g.add(BP_OP_conv, {before, g.weight({k.o, k.c / groups, 3, 3}, w), g.weight({k.o}, b)},
                                 {1, k.o, 3, 11}, {list(BP_ATTR_pads, {1, 1, 1, 1}), integer(BP_ATTR_group, groups)});
            g.output(before);
            g.output(y);
            Program p(device, g);
            p.run();
            const Floats between = p.read(before);
            EXPECT_LT(difference(p.read(y), naive(k, between, w, b, 3, 11)), 2e-5) << p.info.summary;
            return p.read(y);
        };
        EXPECT_EQ(run("1"), run("5"));
    }
}

TEST_P(Conv, OfTokensWithChannelsLastMovesNothing) {
    Device device({GetParam(), "2"});
    constexpr int64_t kBatch = 2;
    constexpr int64_t kSteps = 37;
    constexpr int64_t kChannels = 6;
    constexpr int64_t kTaps = 9;
    const Floats x = random_floats(kBatch * kSteps * kChannels, 1);
    const Floats w = random_floats(kChannels * kTaps, 2);
    for (const bool column : {false, true}) {  // [N,C,T], or [N,C,T,1] and filters of 9 x 1
        const auto dims = [&](Dims d) {
            if (column) d.insert(d.end() - (d[1] == kSteps ? 1 : 0), 1);
            return d;
        };
        const Dims tokens = dims({kBatch, kSteps, kChannels});
        const Dims map = dims({kBatch, kChannels, kSteps});
        const Dims to_map = column ? Dims{0, 3, 1, 2} : Dims{0, 2, 1};
        const Dims to_tokens = column ? Dims{0, 2, 3, 1} : Dims{0, 2, 1};
        Graph g;
        const auto turned = g.add(BP_OP_transpose, {g.input(tokens, x)}, map, {list(BP_ATTR_perm, to_map)});
        const auto c =
            g.add(BP_OP_conv, {turned, g.weight(dims({kChannels, 1, kTaps}), w)}, map,
                  {list(BP_ATTR_pads, column ? Dims{4, 0, 4, 0} : Dims{4, 4}), integer(BP_ATTR_group, kChannels)});
        const auto back = g.add(BP_OP_transpose, {c}, tokens, {list(BP_ATTR_perm, to_tokens)});
        const auto y = g.add(BP_OP_abs, {back}, tokens);
        g.output(y);
        Program p(device, g);
        p.run();
        std::vector<double> want;
        for (int64_t n = 0; n < kBatch; ++n)
            for (int64_t t = 0; t < kSteps; ++t)
                for (int64_t i = 0; i < kChannels; ++i) {
                    double sum = 0;
                    for (int64_t k = 0; k < kTaps; ++k)
                        if (const int64_t at = t + k - kTaps / 2; at >= 0 && at < kSteps)
                            sum += double{x[static_cast<size_t>((n * kSteps + at) * kChannels + i)]} *
                                   double{w[static_cast<size_t>(i * kTaps + k)]};
                    want.push_back(std::abs(sum));
                }
        EXPECT_LT(difference(p.read(y), want), 1e-5);
        const std::string steps = p.info.summary;
        EXPECT_EQ(steps.find("Transpose"), std::string::npos) << steps;
        EXPECT_EQ(steps.find("relayout"), std::string::npos) << steps;
    }
}

// Maps of few and of many tiles, which are given to threads in calls of other sizes; of all filters, and of so few that blocks of them are higher.
TEST(ConvThreads, ResultsAreBitwiseEqualForAnyNumberOfThreads) {
    struct Size {
        int64_t channels, filters, height, width;
    };
    for (const Size& size : {Size{64, 64, 33, 29}, Size{32, 16, 48, 48}, Size{48, 24, 13, 7}, Size{16, 32, 4, 4}}) {
        Floats first;
        for (const char* threads : {"1", "2", "3", "7", "32"}) {
            Device device({"", threads});
            Graph g;
            const auto y =
                g.add(BP_OP_conv,
                      {g.input({1, size.channels, size.height, size.width},
                               random_floats(size.channels * size.height * size.width, 1)),
                       g.weight({size.filters, size.channels, 3, 3}, random_floats(size.filters * size.channels * 9, 2))},
                      {1, size.filters, size.height, size.width}, {list(BP_ATTR_pads, {1, 1, 1, 1})});
            g.output(y);
            Program p(device, g);
            for (int i = 0; i < 5; ++i) p.run();
            const Floats got = p.read(y);
            if (first.empty()) first = got;
            ASSERT_EQ(std::memcmp(first.data(), got.data(), got.size() * sizeof(float)), 0)
                << threads << " threads, " << size.filters << " filters";
        }
    }
}
