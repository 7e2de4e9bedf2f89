// Operators of opset 23 and 24, which the published tests that are installed do not have yet: beside the nodes that define them.
#include <cmath>

#include "formats/onnx/convert.hpp"
#include "graph/element_types.hpp"
#include "graph/evaluate.hpp"
#include "onnx_bytes.hpp"
#include "support.hpp"

namespace backplane::onnx_attention_test {
namespace {

using namespace onnx_bytes;  // NOLINT: it is what these tests are made of

std::vector<float> numbers(const Shape& shape, int seed) {
    std::vector<float> all(static_cast<size_t>(elements(shape)));
    for (size_t i = 0; i < all.size(); ++i) all[i] = std::sin(static_cast<float>(i) * 1.3F + static_cast<float>(seed));
    return all;
}

std::string of_shape(const std::string& name, const Shape& shape) {
    std::vector<std::string> extents;
    for (const int64_t extent : shape) extents.push_back(std::to_string(extent));
    return value(name, kF32, extents);
}

std::string constant(const std::string& name, const Shape& shape, int seed) {
    return initializer(tensor(name, {shape.begin(), shape.end()}, numbers(shape, seed)));
}

std::string ints(const std::string& name, const std::vector<int64_t>& values) {
    return initializer(tensor(name, kI64, {values.size()}, raw(values)));
}

// The model's nodes write y and, otherwise, z: both of `shape`.
void expect_alike(const std::string& nodes, const Shape& shape, uint64_t opset) {
    const std::string file = model(nodes + output(of_shape("y", shape)) + output(of_shape("z", shape)), opset);
    const Graph graph = formats::graph_of(formats::parse_onnx(as_bytes(file), "a file"));
    std::vector<float> y(static_cast<size_t>(elements(shape))), z(y.size());
    ASSERT_EQ(graph[graph.find("y")].shape, shape);
    const graph::TensorRoom rooms[] = {{graph.find("y"), std::as_writable_bytes(std::span(y))},
                                       {graph.find("z"), std::as_writable_bytes(std::span(z))}};
    graph::evaluate(graph, {}, rooms);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], z[i], 1e-5) << i;
}

// softmax(q k^T / 2 + mask) v of heads of 4, as nodes: t and what it takes are [2, 3, tokens or keys, 4].
std::string by_parts(const std::string& mask) {
    return node("Transpose", {"K"}, {"kt"}, integers("perm", {0, 1, 3, 2})) + node("MatMul", {"Q", "kt"}, {"scores"}) +
           initializer(tensor("half", {1}, {0.5F})) + node("Mul", {"scores", "half"}, {"scaled"}) +
           (mask.empty() ? node("Identity", {"scaled"}, {"masked"}) : node("Add", {"scaled", mask}, {"masked"})) +
           node("Softmax", {"masked"}, {"seen"}, integer("axis", -1)) + node("MatMul", {"seen", "V"}, {"z"});
}

std::string triangle(int64_t tokens, int64_t keys, int64_t past) {
    std::vector<float> mask;
    for (int64_t i = 0; i < tokens; ++i)
        for (int64_t j = 0; j < keys; ++j) mask.push_back(j <= past + i ? 0.0F : -1e30F);
    return initializer(tensor("triangle", {static_cast<uint64_t>(tokens), static_cast<uint64_t>(keys)}, mask));
}

TEST(OnnxAttention, OfHeadsIsSoftmaxOfProducts) {
    const std::string of = constant("Q", {2, 3, 5, 4}, 1) + constant("K", {2, 3, 7, 4}, 2) + constant("V", {2, 3, 7, 4}, 3);
    expect_alike(of + node("Attention", {"Q", "K", "V"}, {"y"}) + by_parts(""), {2, 3, 5, 4}, 23);
    expect_alike(of + constant("mask", {5, 7}, 4) + node("Attention", {"Q", "K", "V", "mask"}, {"y"}) + by_parts("mask"),
                 {2, 3, 5, 4}, 23);
    // Query i sees keys up to i, wherever the last of them is.
    expect_alike(
        of + node("Attention", {"Q", "K", "V"}, {"y"}, integer("is_causal", 1)) + triangle(5, 7, 0) + by_parts("triangle"),
        {2, 3, 5, 4}, 23);
}

TEST(OnnxAttention, GoesOnFromPastKeysAndGivesAllOfThem) {
    const std::string of = constant("Q", {2, 3, 2, 4}, 1) + constant("k", {2, 3, 2, 4}, 2) + constant("v", {2, 3, 2, 4}, 3) +
                           constant("pk", {2, 3, 5, 4}, 4) + constant("pv", {2, 3, 5, 4}, 5) +
                           node("Concat", {"pk", "k"}, {"K"}, integer("axis", 2)) +
                           node("Concat", {"pv", "v"}, {"V"}, integer("axis", 2));
    expect_alike(of + node("Attention", {"Q", "k", "v", "", "pk", "pv"}, {"y"}, integer("is_causal", 1)) +
                     triangle(2, 7, 5) + by_parts("triangle"),
                 {2, 3, 2, 4}, 23);
    expect_alike(of + node("Attention", {"Q", "k", "v", "", "pk", "pv"}, {"other", "y"}) + node("Identity", {"K"}, {"z"}),
                 {2, 3, 7, 4}, 23);
}

// [N, T, H * D], where heads lie beside each other.
TEST(OnnxAttention, OfThreeAxesHasItsHeadsBesideEachOther) {
    const auto heads = [](const std::string& from, const std::string& to, int64_t tokens) {
        return ints(to + "_apart", {2, tokens, 3, 4}) + node("Reshape", {from, to + "_apart"}, {to + "_a"}) +
               node("Transpose", {to + "_a"}, {to}, integers("perm", {0, 2, 1, 3}));
    };
    const std::string of = constant("q", {2, 5, 12}, 1) + constant("k", {2, 7, 12}, 2) + constant("v", {2, 7, 12}, 3);
    std::string nodes = by_parts("");
    nodes.replace(nodes.rfind("\x12\x01z"), 3, "\x12\x01w");  // its result is turned back
    expect_alike(of + node("Attention", {"q", "k", "v"}, {"y"}, integer("q_num_heads", 3) + integer("kv_num_heads", 3)) +
                     heads("q", "Q", 5) + heads("k", "K", 7) + heads("v", "V", 7) + nodes +
                     node("Transpose", {"w"}, {"wt"}, integers("perm", {0, 2, 1, 3})) + ints("flat", {2, 5, 12}) +
                     node("Reshape", {"wt", "flat"}, {"z"}),
                 {2, 5, 12}, 23);
}

TEST(OnnxAttention, WhatItCannotDoIsSaid) {
    const std::string of = constant("q", {2, 5, 12}, 1) + constant("Q", {1, 1, 2, 4}, 1) + constant("m", {2, 3}, 1) +
                           constant("K", {1, 1, 3, 4}, 1);
    const auto refused = [&](const std::string& nodes, const std::string& about) {
        const std::string file = model(of + nodes + output(of_shape("y", {1})), 23);
        expect_error([&] { formats::graph_of(formats::parse_onnx(as_bytes(file), "a file")); }, Code::unsupported, about);
    };
    refused(node("Attention", {"q", "q", "q"}, {"y"}), "q_num_heads");
    refused(node("Attention", {"Q", "K", "K", "m"}, {"y"}, integer("is_causal", 1)), "is_causal");
    refused(node("Attention", {"Q", "K", "K", "", "K"}, {"y"}), "past");
    refused(node("Attention", {"Q", "K", "K"}, {"o", "", "", "y"}), "scores");
}

TEST(OnnxRotaryEmbedding, TurnsHalvesOfEachHead) {
    const std::string part = constant("x", {1, 2, 3, 4}, 1) + constant("cos", {1, 3, 2}, 2) + constant("sin", {1, 3, 2}, 3);
    const std::string split = ints("sizes", {2, 2}) + node("Split", {"x", "sizes"}, {"a", "b"}, integer("axis", 3));
    expect_alike(part + node("RotaryEmbedding", {"x", "cos", "sin"}, {"y"}) + split + node("Mul", {"a", "cos"}, {"ac"}) +
                     node("Mul", {"b", "sin"}, {"bs"}) + node("Mul", {"a", "sin"}, {"as"}) +
                     node("Mul", {"b", "cos"}, {"bc"}) + node("Sub", {"ac", "bs"}, {"first"}) +
                     node("Add", {"as", "bc"}, {"second"}) + node("Concat", {"first", "second"}, {"z"}, integer("axis", 3)),
                 {1, 2, 3, 4}, 23);
}

TEST(OnnxTensorScatter, PutsRowsInAtPositions) {
    const std::string of = constant("cache", {2, 4, 3}, 1) + constant("update", {2, 1, 3}, 2) + ints("at", {2, 0});
    expect_alike(of + node("TensorScatter", {"cache", "update", "at"}, {"y"}, integer("axis", 1)) +
                     initializer(tensor("places", kI64, {2, 1, 2}, raw(std::vector<int64_t>{0, 2, 1, 0}))) +
                     node("ScatterND", {"cache", "places", "update"}, {"z"}),
                 {2, 4, 3}, 24);
}

}  // namespace
}  // namespace backplane::onnx_attention_test
