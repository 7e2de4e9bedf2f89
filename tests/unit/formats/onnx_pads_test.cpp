// Pads that take off or go round, and the norms of p-th powers, of which ONNX's own tests (1.12) have none.
#include <cmath>

#include "formats/onnx/convert.hpp"
#include "onnx_result.hpp"
#include "support.hpp"

namespace backplane::onnx_pads_test {
namespace {

using namespace onnx_bytes;  // NOLINT: it is what these tests are made of
using Numbers = std::vector<double>;

Graph graph_for(const std::string& nodes, const std::vector<std::string>& extents) {
    return formats::graph_of(formats::parse_onnx(as_bytes(model_of_x(nodes, extents, 19)), "a file"));
}
Made of(const std::string& nodes, const std::vector<std::string>& extents, const std::vector<float>& x = {}) {
    return made_of_x(graph_for(nodes, extents), x);
}

std::string padded(const std::vector<int64_t>& pads, const std::string& mode) {
    return initializer(tensor("p", kI64, {pads.size()}, raw(pads))) + node("Pad", {"x", "p"}, {"y"}, word("mode", mode));
}

TEST(OnnxPads, WhatTakesOffMoreThanThereIsIsUnsupported) {
    expect_error([] { graph_for(padded({-2, -2}, "constant"), {"3"}); }, Code::unsupported, "less than it has");
    expect_error(
        [] {
            graph_for(padded({INT64_MIN, 0}, "constant"), {"3"});
        },
        Code::unsupported, "pads of -9223372036854775808");
    expect_error([] { graph_for(padded({INT64_MAX, INT64_MAX}, "wrap"), {"3"}); }, Code::unsupported, "pads of");
    expect_error([] { graph_for(padded({1 << 30, 0}, "wrap"), {"3"}); }, Code::unsupported, "1073741824");
    expect_error([] { graph_for(padded({1, 0}, "wrap"), {"0"}); }, Code::unsupported, "wrap of nothing");
    expect_error([] { graph_for(padded({1, 0}, "round"), {"3"}); }, Code::unsupported, "mode round");
}

TEST(OnnxPads, PadsBelow0TakeOff) {
    EXPECT_EQ(of(padded({-1, 2}, "constant"), {"3"}).numbers, (Numbers{2, 3, 0, 0}));
    EXPECT_EQ(of(padded({0, -1, 1, 0}, "edge"), {"2", "3"}).numbers, (Numbers{2, 3, 5, 6, 5, 6}));
    EXPECT_EQ(of(padded({-1, 1}, "reflect"), {"4"}).numbers, (Numbers{2, 3, 4, 3}));
    EXPECT_EQ(of(padded({-1, -2}, "constant"), {"3"}).shape, Shape{0});
    EXPECT_EQ(of(padded({}, "constant"), {}).numbers, (Numbers{1}));
}

TEST(OnnxPads, WrapGoesRound) {
    EXPECT_EQ(of(padded({2, 1}, "wrap"), {"3"}).numbers, (Numbers{2, 3, 1, 2, 3, 1}));
    EXPECT_EQ(of(padded({4, 0}, "wrap"), {"3"}).numbers, (Numbers{3, 1, 2, 3, 1, 2, 3})) << "more than once";
    EXPECT_EQ(of(padded({0, -1, 1, 1}, "wrap"), {"2", "3"}).numbers, (Numbers{2, 3, 2, 5, 6, 5, 2, 3, 2}));
    EXPECT_EQ(of(padded({0, 0}, "wrap"), {"2"}).numbers, (Numbers{1, 2}));
}

// Bounds before the axis, steps below 0: what ONNX says, and ONNX Runtime does.
TEST(OnnxSlices, BackwardsFromBeforeTheAxisIsItsFirstElement) {
    const auto sliced = [](int64_t start, int64_t end, int64_t step, const char* extent = "3") {
        std::string nodes;
        for (const auto& [name, number] : {std::pair{"s", start}, {"e", end}, {"a", int64_t{0}}, {"p", step}})
            nodes += initializer(tensor(name, kI64, {1}, raw(std::vector<int64_t>{number})));
        return of(nodes + node("Slice", {"x", "s", "e", "a", "p"}, {"y"}), {extent}).numbers;
    };
    EXPECT_EQ(sliced(-4, -6, -2), (Numbers{1}));
    EXPECT_EQ(sliced(-9, INT64_MIN, -1), (Numbers{1}));
    EXPECT_EQ(sliced(INT64_MAX, INT64_MIN, INT64_MIN), (Numbers{3}));
    EXPECT_EQ(sliced(INT64_MAX, 0, -1), (Numbers{3, 2}));
    EXPECT_EQ(sliced(-4, -6, -2, "0"), Numbers{});
}

void expect_near(const Made& made, const Numbers& want, const Shape& shape) {
    ASSERT_EQ(made.numbers.size(), want.size());
    EXPECT_EQ(made.shape, shape);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(made.numbers[i], want[i], 1e-6) << i;
}

TEST(OnnxNorms, PoolsAreRootsOfSums) {
    expect_error(
        [] {
            graph_for(node("LpPool", {"x"}, {"y"}, integers("kernel_shape", {2}) + integer("p", 0)), {"1", "1", "3"});
        },
        Code::unsupported, "LpPool: p 0");
    const std::string two = integers("kernel_shape", {2});
    expect_near(of(node("LpPool", {"x"}, {"y"}, two), {"1", "1", "3"}, {3, -4, 0}), {5, 4}, {1, 1, 2});
    expect_near(of(node("LpPool", {"x"}, {"y"}, two + integer("p", 1) + integers("pads", {1, 0})), {"1", "1", "2"}, {3, -4}),
                {3, 7}, {1, 1, 2});
    expect_near(of(node("LpPool", {"x"}, {"y"}, two + integer("p", 3)), {"1", "1", "2"}, {3, -4}), {std::cbrt(91.0)},
                {1, 1, 1});
    expect_near(of(node("GlobalLpPool", {"x"}, {"y"}), {"1", "2", "2"}, {3, -4, 0, 0}), {5, 0}, {1, 2, 1});
}

TEST(OnnxNorms, NormalizationOfZerosIsZeros) {
    expect_near(of(node("LpNormalization", {"x"}, {"y"}), {"2", "2"}, {3, -4, 0, 0}), {0.6, -0.8, 0, 0}, {2, 2});
    expect_near(of(node("LpNormalization", {"x"}, {"y"}, integer("axis", 0) + integer("p", 1)), {"2", "2"}, {3, -4, -1, 0}),
                {0.75, -1, -0.25, 0}, {2, 2});
}

}  // namespace
}  // namespace backplane::onnx_pads_test
