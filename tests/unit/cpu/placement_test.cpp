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
