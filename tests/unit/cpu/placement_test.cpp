#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "harness.hpp"

using namespace harness;

namespace {

constexpr size_t kPage = 4096 / sizeof(float);
constexpr float kBeside = -77.0f;

// Pages of numbers that nobody may write but where a result is.
class Pages {
public:
    explicit Pages(size_t pages) : room_((pages + 1) * kPage, kBeside) {}
    // `floats` behind the beginning of a page.
    float* at(size_t page, size_t floats) {
        void* begin = room_.data();
        size_t bytes = room_.size() * sizeof(float);
        std::align(kPage * sizeof(float), sizeof(float), begin, bytes);
        return static_cast<float*>(begin) + page * kPage + floats;
    }
    float* put(size_t page, size_t floats, const Floats& numbers) {
        return std::copy(numbers.begin(), numbers.end(), at(page, floats)) - numbers.size();
    }
    // What lies at `begin`, and that nothing beside it was written.
    Floats taken(const float* begin, size_t count) {
        Floats got(begin, begin + count);
        EXPECT_EQ(*(begin - 1), kBeside);
        EXPECT_EQ(*(begin + count), kBeside);
        return got;
    }

private:
    Floats room_;
};

}  // namespace

class Placement : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Levels, Placement, testing::ValuesIn(masks()));

// Results that begin a little behind their operand in a page, or before it, are made from the last vector to the first, or not: they are the same.
TEST_P(Placement, ElementsAreTheSameWhereverOperandsAndResultsLieInTheirPages) {
    Device device({GetParam(), "1"});
    for (const int64_t n : {9000, 1027, 1}) {
        const Floats x = random_floats(n, 1), y = random_floats(n, 2);
        Graph one, two;
        const auto given = one.input({n}, x), left = two.input({n}, x), right = two.input({n}, y);
        const auto gelu = one.add(BP_OP_gelu, {given}, {n});
        const auto difference = two.add(BP_OP_sub, {left, right}, {n});
        one.output(gelu);
        two.output(difference);
        Program unary(device, one), binary(device, two);
        unary.run();
        binary.run();
        const Floats want = unary.read(gelu), wanted = binary.read(difference);
        for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(wanted[i], x[i] - y[i]);
        for (const size_t behind : {2, 16, 18, 96, 126, 128, 512, 1008, 1020}) {
            Pages pages(40);
            unary.place(given, pages.put(0, 4, x));
            unary.place(gelu, pages.at(13, 4 + behind));
            unary.run();
            EXPECT_EQ(pages.taken(pages.at(13, 4 + behind), want.size()), want) << n << " numbers, " << behind << " behind";
            for (const size_t other : {size_t{16}, size_t{1000}, 4 + behind}) {
                Pages room(40);
                binary.place(left, room.put(0, 4, x));
                binary.place(right, room.put(13, other, y));
                binary.place(difference, room.at(26, 4 + behind));
                binary.run();
                EXPECT_EQ(room.taken(room.at(26, 4 + behind), want.size()), wanted)
                    << n << " numbers, " << behind << " behind";
            }
        }
    }
}

// Chunks of pixels begin at a line of the result: numbers do not depend on where that is.
TEST_P(Placement, PixelsOfA1x1ConvolutionAreTheSameWhereverTheyLie) {
    struct Size {
        const char* threads;
        int64_t channels, filters, height, width;
    };
    std::vector<Size> sizes = {{"1", 3, 5, 96, 96},
                               {"1", 70, 6, 16, 130}};  // by stretches of pixels, long ones and short ones
    for (const int64_t channels : {3, 130, 300})
        for (const int64_t filters : {2, 5, 70}) sizes.push_back({"2", channels, filters, 16, 11});
    for (const auto [threads, channels, filters, height, width] : sizes) {
        Device device({GetParam(), threads});
        const int64_t pixels = height * width, samples = 2;
        const Floats x = random_floats(samples * channels * pixels, 1), w = random_floats(filters * channels, 2);
        Graph g;
        const auto in = g.input({samples, channels, height, width}, x);
        const auto out = g.add(BP_OP_conv, {in, g.weight({filters, channels, 1, 1}, w)}, {samples, filters, height, width});
        g.output(out);
        Program p(device, g);
        EXPECT_NE(std::string(p.info.summary).find("by pixels"), std::string::npos) << p.info.summary;
        p.run();
        const Floats want = p.read(out);
        for (int64_t i = 0; i < samples * filters * pixels; ++i) {
            const int64_t sample = i / pixels / filters, filter = i / pixels % filters, pixel = i % pixels;
            double sum = 0;
            for (int64_t c = 0; c < channels; ++c)
                sum += double{x[static_cast<size_t>((sample * channels + c) * pixels + pixel)]} *
                       double{w[static_cast<size_t>(filter * channels + c)]};
            ASSERT_NEAR(want[static_cast<size_t>(i)], sum, 1e-5 * static_cast<double>(channels)) << i;
        }
        const size_t room = x.size() / kPage + 2;
        for (const size_t from : {0, 4, 14})
            for (const size_t to : {4, 10, 16, 30}) {
                Pages pages(2 * room + 200);
                p.place(in, pages.put(1, from, x));
                p.place(out, pages.at(room + 1, to));
                p.run();
                EXPECT_EQ(pages.taken(pages.at(room + 1, to), want.size()), want)
                    << channels << " to " << filters << " from " << from << " to " << to;
            }
    }
}

// Taps beside the plane on all sides, more of them than a filter has.
TEST_P(Placement, PlanesOfA3x3ConvolutionAreTheSameWhereverTheyLie) {
    Device device({GetParam(), "1"});
    for (const int64_t h : {1, 2, 5, 40})
        for (const int64_t w : {1, 3, 16, 33, 70, 1040})
            for (const int64_t pad : {0, 1, 2, 4}) {
                const int64_t oh = h + 2 * pad - 2, ow = w + 2 * pad - 2, planes = 3;
                if (oh < 1 || ow < 1) continue;
                const Floats x = random_floats(planes * h * w, 1), weight = random_floats(planes * 9, 2);
                Graph g;
                const auto in = g.input({1, planes, h, w}, x);
                const auto out = g.add(BP_OP_conv, {in, g.weight({planes, 1, 3, 3}, weight)}, {1, planes, oh, ow},
                                       {list(BP_ATTR_pads, {pad, pad, pad, pad}), integer(BP_ATTR_group, planes)});
                g.output(out);
                Program p(device, g);
                p.run();
                const Floats want = p.read(out);
                for (int64_t i = 0; i < planes * oh * ow; ++i) {
                    const int64_t plane = i / ow / oh, row = i / ow % oh, column = i % ow;
                    double sum = 0;
                    for (int64_t tap = 0; tap < 9; ++tap) {
                        const int64_t r = row + tap / 3 - pad, c = column + tap % 3 - pad;
                        if (r < 0 || r >= h || c < 0 || c >= w) continue;
                        sum += double{x[static_cast<size_t>((plane * h + r) * w + c)]} *
                               double{weight[static_cast<size_t>(plane * 9 + tap)]};
                    }
                    ASSERT_NEAR(want[static_cast<size_t>(i)], sum, 1e-5) << h << " x " << w << ", pads " << pad << ", " << i;
                }
                const size_t room = x.size() / kPage + 2;
                for (const size_t to : {4, 16}) {
                    Pages pages(room + want.size() / kPage + 4);
                    p.place(in, pages.put(0, 4, x));
                    p.place(out, pages.at(room, to));
                    p.run();
                    EXPECT_EQ(pages.taken(pages.at(room, to), want.size()), want) << h << " x " << w << ", pads " << pad;
                }
            }
}
