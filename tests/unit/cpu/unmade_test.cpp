// Maps and heads that fusion leaves out: what is made without them is, bit for bit, what is made with them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "convolutions.hpp"

using namespace harness;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// One convolution, what multiplies its rows, and a filter for each channel behind it.
struct Two {
    int64_t n, c, h, w, o;              // of the first, whose filters are 3 x 3, by steps of 2
    int64_t kh, kw, down, across, pad;  // of the second
    int64_t mask_n, mask_h;             // of the rows' factors; 0: none
};

const std::vector<Two> pairs = {
    {1, 1, 61, 40, 35, 3, 3, 2, 2, 1, 1, 31}, {2, 1, 64, 21, 64, 3, 3, 2, 2, 1, 2, 32},
    {3, 2, 9, 33, 5, 3, 3, 2, 2, 1, 3, 1},    {2, 1, 5, 9, 17, 3, 3, 2, 2, 1, 1, 3},
    {1, 1, 40, 12, 8, 3, 3, 2, 2, 0, 0, 0},   {1, 3, 31, 30, 19, 2, 5, 3, 2, 2, 1, 1},
    {1, 1, 7, 8, 130, 3, 3, 1, 2, 1, 1, 4},   {2, 1, 1, 9, 6, 3, 3, 2, 2, 1, 2, 1},
};

struct Result {
    Floats values;
    std::string steps;
};

bool same_bits(const Floats& a, const Floats& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

Result convolve(const std::string& mask, const char* threads, const Two& t, bool made, bool wild) {
    Device device({mask, threads});
    Graph g;
    const int64_t h = (t.h + 1) / 2, w = (t.w + 1) / 2;
    const int64_t oh = (h + 2 * t.pad - t.kh) / t.down + 1, ow = (w + 2 * t.pad - t.kw) / t.across + 1;
    Floats x = random_floats(t.n * t.c * t.h * t.w, 1);
    if (wild) x[x.size() / 2] = kNaN;
    const auto first = g.add(BP_OP_conv,
                             {g.input({t.n, t.c, t.h, t.w}, x), g.weight({t.o, t.c, 3, 3}, random_floats(t.o * t.c * 9, 2)),
                              g.weight({t.o}, random_floats(t.o, 3))},
                             {t.n, t.o, h, w}, {list(BP_ATTR_strides, {2, 2}), list(BP_ATTR_pads, {1, 1, 1, 1})});
    auto between = g.add(BP_OP_relu, {first}, {t.n, t.o, h, w});
    if (t.mask_n > 0) {
        Floats factors = random_floats(t.mask_n * t.mask_h, 4);
        for (size_t i = 0; i < factors.size(); i += 2) factors[i] = i % 4 == 0 ? 1.0f : 0.0f;
        between = g.add(BP_OP_mul, {between, g.input({t.mask_n, 1, t.mask_h, 1}, factors)}, {t.n, t.o, h, w});
    }
    const auto second = g.add(BP_OP_conv,
                              {between, g.weight({t.o, 1, t.kh, t.kw}, random_floats(t.o * t.kh * t.kw, 5)),
                               g.weight({t.o}, random_floats(t.o, 6))},
                              {t.n, t.o, oh, ow},
                              {list(BP_ATTR_strides, {t.down, t.across}), list(BP_ATTR_pads, {t.pad, t.pad, t.pad, t.pad}),
                               integer(BP_ATTR_group, t.o)});
    const auto y =
        g.add(BP_OP_add, {second, g.input({t.n, t.o, oh, ow}, random_floats(t.n * t.o * oh * ow, 7))}, {t.n, t.o, oh, ow});
    if (made) g.output(between);
    g.output(y);
    Program p(device, g);
    for (int i = 0; i < 2; ++i) p.run();
    return {p.read(y), p.info.summary};
}

// Lines that have both.
bool one_step(const std::string& steps, const std::string& a, const std::string& b) {
    const size_t at = steps.find(a);
    const size_t end = steps.find('\n', at);
    return at != std::string::npos && steps.substr(at, end - at).find(b) != std::string::npos;
}

// Queries, keys and values of rows of 3 * heads * size, beside each other, or as the op has them.
enum class Heads { side_by_side, made, as_given };

struct Sizes {
    int64_t n, heads, shared, tokens, size;
    bool positions;
};

uint32_t heads_of(Graph& g, uint32_t rows, int64_t n, int64_t tokens, int64_t heads, int64_t size, bool made) {
    const auto split =
        g.add(BP_OP_reshape, {rows}, {n, tokens, heads, size}, {list(BP_ATTR_shape, {n, tokens, heads, size})});
    const auto turned = g.add(BP_OP_transpose, {split}, {n, heads, tokens, size}, {list(BP_ATTR_perm, {0, 2, 1, 3})});
    if (made) g.output(turned);
    return turned;
}

Result attend(const std::string& mask, const char* threads, const Sizes& s, Heads how) {
    Device device({mask, threads});
    Graph g;
    const int64_t of[3] = {s.heads * s.size, s.shared * s.size, s.shared * s.size};
    const int64_t row = of[0] + of[1] + of[2];
    const Floats all = random_floats(s.n * s.tokens * row, 1);
    const auto rows =
        how == Heads::as_given ? 0 : g.add(BP_OP_abs, {g.input({s.n, s.tokens, row}, all)}, {s.n, s.tokens, row});
    std::vector<uint32_t> operands;
    for (int64_t k = 0, at = 0; k < 3; at += of[k++]) {
        const int64_t heads = of[k] / s.size;
        if (how == Heads::as_given) {
            Floats mine;
            for (int64_t i = 0; i < s.n * heads * s.tokens * s.size; ++i) {
                const int64_t e = i % s.size, t = i / s.size % s.tokens, h = i / s.size / s.tokens % heads;
                const int64_t n = i / s.size / s.tokens / heads;
                mine.push_back(std::abs(all[static_cast<size_t>((n * s.tokens + t) * row + at + h * s.size + e)]));
            }
            operands.push_back(g.input({s.n, heads, s.tokens, s.size}, mine));
            continue;
        }
        const auto part = g.add(BP_OP_slice, {rows}, {s.n, s.tokens, of[k]},
                                {list(BP_ATTR_starts, {0, 0, at}), list(BP_ATTR_ends, {s.n, s.tokens, at + of[k]})});
        operands.push_back(heads_of(g, part, s.n, s.tokens, heads, s.size, how == Heads::made));
    }
    std::vector<uint32_t> inputs = operands;
    if (s.positions) {
        const int64_t far = 2 * s.tokens + 5;  // further than any two are apart
        inputs.insert(inputs.end(),
                      {BP_NO_TENSOR, BP_NO_TENSOR,
                       g.input({s.heads, 2 * far + 1, s.size}, random_floats(s.heads * (2 * far + 1) * s.size, 3)),
                       g.weight({s.heads, s.size}, random_floats(s.heads * s.size, 4)),
                       g.weight({s.heads, s.size}, random_floats(s.heads * s.size, 5))});
    }
    const auto y = g.add(BP_OP_attention, inputs, {s.n, s.heads, s.tokens, s.size});
    if (how == Heads::made) g.output(y);
    const auto tokens_first =
        g.add(BP_OP_transpose, {y}, {s.n, s.tokens, s.heads, s.size}, {list(BP_ATTR_perm, {0, 2, 1, 3})});
    const auto flat =
        g.add(BP_OP_reshape, {tokens_first}, {s.n, s.tokens, of[0]}, {list(BP_ATTR_shape, {s.n, s.tokens, of[0]})});
    const auto out = g.add(BP_OP_neg, {flat}, {s.n, s.tokens, of[0]});
    g.output(out);
    Program p(device, g);
    for (int i = 0; i < 2; ++i) p.run();
    return {p.read(out), p.info.summary};
}

}  // namespace

class Unmade : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Levels, Unmade, testing::ValuesIn(masks()));

TEST_P(Unmade, TheMapBetweenTwoConvolutionsIsMadeSomeRowsAtATime) {
    for (size_t i = 0; i < pairs.size(); ++i)
        for (const char* threads : {"1", "3"}) {
            const Result whole = convolve(GetParam(), "2", pairs[i], true, false);
            const Result rows = convolve(GetParam(), threads, pairs[i], false, false);
            EXPECT_FALSE(one_step(whole.steps, "Conv direct", "Conv depthwise")) << whole.steps;
            EXPECT_TRUE(one_step(rows.steps, "Conv direct", "Conv depthwise")) << rows.steps;
            EXPECT_EQ(rows.steps.find("\nMul"), std::string::npos) << rows.steps;
            EXPECT_TRUE(same_bits(rows.values, whole.values)) << "pair " << i << ", " << threads << " threads\n"
                                                              << rows.steps;
        }
}

TEST_P(Unmade, NaNGoesAsFarAsItDoesInAMapThatIsMade) {
    for (const Two& pair : pairs) {
        const Floats whole = convolve(GetParam(), "2", pair, true, true).values;
        const Floats rows = convolve(GetParam(), "2", pair, false, true).values;
        ASSERT_EQ(rows.size(), whole.size());
        for (size_t i = 0; i < rows.size(); ++i)
            EXPECT_TRUE(rows[i] == whole[i] || (std::isnan(rows[i]) && std::isnan(whole[i]))) << i;
    }
}

TEST_P(Unmade, AMapThatAnotherReadsOrThatFiltersOfManyProductsMakeIsMade) {
    Device device({GetParam(), "2"});
    Graph g;
    const auto conv = [&](uint32_t x, Dims in, int64_t o, int64_t group, Dims out) {
        return g.add(BP_OP_conv, {x, g.weight({o, in[1] / group, 3, 3}, random_floats(o * in[1] / group * 9, 2))},
                     std::move(out),
                     {list(BP_ATTR_strides, {2, 2}), list(BP_ATTR_pads, {1, 1, 1, 1}), integer(BP_ATTR_group, group)});
    };
    const auto x = g.input({1, 1, 32, 32}, random_floats(1024, 1));
    const auto twice = conv(x, {1, 1, 32, 32}, 8, 1, {1, 8, 16, 16});
    const auto a = conv(twice, {1, 8, 16, 16}, 8, 8, {1, 8, 8, 8});
    const auto b = conv(twice, {1, 8, 16, 16}, 8, 8, {1, 8, 8, 8});
    const auto many = conv(g.input({1, 8, 16, 16}, random_floats(2048, 3)), {1, 8, 16, 16}, 8, 1, {1, 8, 8, 8});
    const auto c = conv(many, {1, 8, 8, 8}, 8, 8, {1, 8, 4, 4});
    for (const uint32_t y : {a, b, c}) g.output(y);
    Program p(device, g);
    p.run();
    EXPECT_FALSE(one_step(p.info.summary, "Conv direct", "Conv depthwise")) << p.info.summary;
}

TEST_P(Unmade, HeadsAreReadAndWrittenWhereTheyLie) {
    for (const Sizes& s : std::vector<Sizes>{
             {1, 8, 8, 150, 64, true}, {2, 3, 3, 33, 20, true}, {2, 4, 2, 65, 32, false}, {3, 1, 1, 5, 7, true}})
        for (const char* threads : {"1", "3"}) {
            const Result there = attend(GetParam(), threads, s, Heads::side_by_side);
            const Result made = attend(GetParam(), "2", s, Heads::made);
            const Result given = attend(GetParam(), "2", s, Heads::as_given);
            EXPECT_EQ(there.steps.find("Slice"), std::string::npos) << there.steps;
            EXPECT_EQ(there.steps.find("Transpose"), std::string::npos) << there.steps;
            EXPECT_TRUE(same_bits(there.values, given.values)) << s.tokens << "\n" << there.steps;
            EXPECT_TRUE(same_bits(made.values, given.values)) << s.tokens << "\n" << made.steps;
        }
}
