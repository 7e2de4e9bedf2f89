// The op table as its users meet it: typed builders, refusals in one wording, and the drift that two copies of the rules once had.
#include <gtest/gtest.h>

#include "backplane/ops.hpp"
#include "graphs.hpp"

namespace backplane {
namespace {

TEST(OpsTable, TypedBuildersMakeTheNodesThatTheUntypedOnesMake) {
    Graph typed;
    Graph untyped;
    const auto declare = [](Graph& g) {
        return std::array{g.input("x", DType::f32, {1, 3, 8, 8}), g.weight("w", DType::f16, {4, 3, 3, 3}),
                          g.weight("b", DType::f32, {4})};
    };
    const auto [x, w, b] = declare(typed);
    const auto [u, v, c] = declare(untyped);
    typed.output(ops::softmax(typed, ops::concat(typed,
                                                 {ops::conv(typed, x, w, b, {.strides = {2, 2}, .pads = {1, 1, 1, 1}}),
                                                  ops::conv(typed, x, w, {.strides = {2, 2}, .pads = {1, 1, 1, 1}})},
                                                 {.axis = 1})),
                 "y");
    const std::vector<Attribute> how{{Attr::strides, {2, 2}}, {Attr::pads, {1, 1, 1, 1}}};
    const TensorId with = untyped.add(Op::conv, {u, v, c}, how);
    const TensorId without = untyped.add(Op::conv, {u, v}, how);
    untyped.output(untyped.add(Op::softmax, {untyped.add(Op::concat, {with, without}, {{Attr::axis, 1}})}), "y");
    EXPECT_EQ(typed.hash(), untyped.hash());
}

TEST(OpsTable, WhatPeopleWriteIsCompleted) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {2, 3, 4});
    EXPECT_EQ(g[ops::reshape(g, x, {.shape = {-1, 4}})].shape, (Shape{6, 4}));
    EXPECT_EQ(g[ops::transpose(g, x)].shape, (Shape{4, 3, 2}));
    EXPECT_EQ(g[ops::transpose(g, x, {.perm = {-1, 0, 1}})].shape, (Shape{4, 2, 3}));
    EXPECT_EQ(g[ops::slice(g, x, {.starts = {0, -2, 1}, .ends = {1, INT64_MAX, -1}})].shape, (Shape{1, 2, 2}));
    EXPECT_EQ(g[ops::reduce_sum(g, x, {.axes = {-1, 0}})].shape, (Shape{1, 3, 1}));
    EXPECT_EQ(g[ops::reduce_max(g, x, {.keepdims = false})].shape, Shape{});
    EXPECT_EQ(g[ops::concat(g, {x, x}, {.axis = -1})].shape, (Shape{2, 3, 8}));
    EXPECT_EQ(g[ops::cast(g, x, {.to = BP_I8})].dtype, DType::i8);
    EXPECT_EQ(g[ops::resize(g, g.input("map", DType::u8, {1, 1, 4, 4}), {.sizes = {8, 2}})].shape, (Shape{1, 1, 8, 2}));
    const TensorId scale = g.weight("scale", DType::f32, {3});
    EXPECT_EQ(g[ops::batch_norm(g, {x, scale, scale, scale, scale}, {})].shape, (Shape{2, 3, 4}));
}

TEST(OpsTable, RefusalsNameTheOpTheOperandAndWhatItTakes) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {1, 3, 8, 8});
    const TensorId i = g.input("i", DType::i32, {1, 3, 8, 8});
    const TensorId q = g.weight("q", DType::q8_0, {4, 32});
    const auto said = [&](auto&& body) { return error_of(body); };
    EXPECT_EQ(said([&] { ops::exp(g, i); }), "Exp: takes f32, f16, bf16 or f64, not x i32 [1, 3, 8, 8]");
    EXPECT_EQ(said([&] { ops::add(g, x, i); }), "Add: b i32 [1, 3, 8, 8] must have the element type of a f32 [1, 3, 8, 8]");
    EXPECT_EQ(said([&] { ops::transpose(g, q); }), "Transpose: does not take block types, x q8_0 [4, 32] is one");
    EXPECT_EQ(said([&] { ops::matmul(g, x, q); }), "MatMul: b q8_0 [4, 32] needs transpose_b: its blocks must run along K");
    EXPECT_EQ(said([&] { ops::softmax(g, x, {.axis = 4}); }), "Softmax: axis 4 lies outside x [1, 3, 8, 8]");
    EXPECT_EQ(said([&] { ops::concat(g, {x, x}, {}); }), "Concat: needs the attribute axis");
    EXPECT_EQ(said([&] {
                  ops::pad(g, x, {.pads = {0, 0, -1, 0, 0, 0, 0, 0}});
              }),
              "Pad: attribute pads [0, 0, -1, 0, 0, 0, 0, 0] is out of range: it takes 0 or more");
    EXPECT_EQ(said([&] {
                  g.add(Op::gelu, {x}, {{Attr::approximate, 2}});
              }),
              "Gelu: attribute approximate 2 is out of range: it takes 0 to 1");
    EXPECT_EQ(said([&] { g.add(Op::relu, {x, x}); }), "Relu: takes 1 inputs, 2 given");
    EXPECT_EQ(said([&] { g.add(Op::conv, {x}); }), "Conv: takes 2 to 3 inputs, 1 given");
    EXPECT_EQ(said([&] { g.add(Op::relu, {x}, {{Attr::alpha, 1.0}}); }), "Relu: takes no attribute alpha; it takes none");
}

// Host and modules once had limits of 2^48 and 2^30: a graph could be built that no device would take.
TEST(OpsTable, AttributesHaveOneLimit) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {1, 1, 4, 4});
    ops::pad(g, x, {.pads = {0, 0, 0, 0, 0, 0, 0, ops::kLargestAttribute}});
    error_of([&] { ops::pad(g, x, {.pads = {0, 0, 0, 0, 0, 0, 0, ops::kLargestAttribute + 1}}); });
    // Shapes and bounds are numbers of elements, not attributes of a kernel.
    const TensorId long_one = g.input("long", DType::u8, {int64_t{1} << 40});
    EXPECT_EQ(g[ops::reshape(g, long_one, {.shape = {1, -1}})].shape, (Shape{1, int64_t{1} << 40}));
}

}  // namespace
}  // namespace backplane
