// The builder: what it refuses and says, worst first; then what it fills in.
#include <array>
#include <limits>
#include <set>

#include "backplane/ops.hpp"
#include "graph/op_definition.hpp"
#include "graphs.hpp"

namespace backplane {
namespace {

TEST(Builder, ShapesTooLargeToCountAreRefused) {
    Graph g;
    const int64_t huge = int64_t{1} << 62;
    error_of([&] { g.input("x", DType::f32, {huge, huge, 0}); });
    error_of([&] { g.input("x", DType::f64, {huge}); });
    error_of([&] { g.input("x", DType::f32, {-1}); });
    error_of([&] { g.input("x", DType::f32, Shape(9, 1)); });
    error_of([&] { g.input("x", static_cast<DType>(77), {1}); });
    error_of([&] { g.weight("w", DType::q8_0, {64, 33}); });
    error_of([&] { g.weight("w", DType::q4_0, {}); });
    EXPECT_TRUE(g.tensors().empty()) << "a refused tensor must not stay";
}

TEST(Builder, AResultTooLargeIsRefusedAndTheGraphStaysAsItWas) {
    Graph g;
    const TensorId a = g.input("a", DType::f32, {int64_t{1} << 40, 1});
    const TensorId b = g.input("b", DType::f32, {1, int64_t{1} << 40});
    EXPECT_NE(error_of([&] { g.add(Op::add, {a, b}); }).find("Add"), std::string::npos);
    error_of([&] { g.add(Op::pad, {a}, {{Attr::pads, {INT64_MAX, 0, INT64_MAX, 0}}}); });
    EXPECT_EQ(g.tensors().size(), 2U);
    EXPECT_TRUE(g.nodes().empty());
}

TEST(Builder, TensorsThatAreNotThereAreRefused) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {4});
    error_of([&] { g.add(Op::relu, {TensorId{7}}); });
    error_of([&] { g.add(Op::add, {x, no_tensor}); });
    error_of([&] { g.add(Op::add, {x}); });
    error_of([&] { g.add(Op::relu, {x, x}); });
    error_of([&] { g.add(Op::concat, std::span<const TensorId>{}, {{Attr::axis, 0}}); });
    error_of([&] { g.add(static_cast<Op>(9999), {x}); });
    error_of([&] { g.output(TensorId{7}, "y"); });
    error_of([&] { g.update(TensorId{7}, x); });
}

TEST(Builder, AnOpOfSeveralOutputsGivesThemAllAndIsRefusedWhereOneIsMeant) {
    Graph g;
    const TensorId x = g.input("x", DType::f16, {3, 7});
    EXPECT_NE(error_of([&] {
                  g.add(Op::split, {x}, {{Attr::sizes, {3, 4}}, {Attr::axis, 1}});
              }).find("Split has several outputs: Graph::add_all"),
              std::string::npos);
    const std::vector<TensorId> parts = ops::split(g, x, {.axis = -1, .sizes = {3, 4}}, "heads");
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(g[parts[0]].shape, (Shape{3, 3}));
    EXPECT_EQ(g[parts[1]].shape, (Shape{3, 4}));
    EXPECT_EQ(g[parts[1]].dtype, DType::f16);
    EXPECT_EQ(g.nodes().at(0).outputs, parts);
    EXPECT_EQ(g.add_all(Op::relu, std::array{parts[0]}).size(), 1U) << "of one output, too";
}

TEST(Builder, PartsThatAreNotTheWholeAreRefusedAndTheGraphStaysAsItWas) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {3, 7});
    const auto split = [&](int64_t axis, std::vector<int64_t> sizes) {
        return error_of([&] { g.add_all(Op::split, std::array{x}, {{Attr::axis, axis}, {Attr::sizes, std::move(sizes)}}); });
    };
    EXPECT_NE(split(1, {3, 3}).find("parts of [3, 3] are 6 in all, axis 1 of x [3, 7] is 7"), std::string::npos);
    for (const auto& [axis, sizes] : std::vector<std::pair<int64_t, std::vector<int64_t>>>{
             {2, {7}}, {-3, {3}}, {1, {}}, {1, {8, -1}}, {1, std::vector<int64_t>(17, 1)}, {0, {INT64_MAX, INT64_MAX}}})
        EXPECT_NE(split(axis, sizes).find("Split"), std::string::npos) << axis;
    error_of([&] { g.add_all(Op::split, std::array{x}); });
    EXPECT_EQ(g.tensors().size(), 1U);
    EXPECT_TRUE(g.nodes().empty());
}

TEST(Builder, AttributesThatDoNotBelongAreRefused) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {1, 4, 4, 4});
    EXPECT_NE(error_of([&] { g.add(Op::relu, {x}, {{Attr::alpha, 0.5}}); }).find("alpha"), std::string::npos);
    EXPECT_NE(error_of([&] { g.add(Op::depth_to_space, {x}); }).find("blocksize"), std::string::npos);
    error_of([&] { g.add(Op::softmax, {x}, {{Attr::axis, 1}, {Attr::axis, 2}}); });
    error_of([&] { g.add(Op::softmax, {x}, {{Attr::axis, 0.5}}); });
    error_of([&] { g.add(Op::softmax, {x}, {{Attr::axis, {1, 2}}}); });
    error_of([&] { g.add(Op::leaky_relu, {x}, {{Attr::alpha, {1, 2}}}); });
    error_of([&] { g.add(Op::softmax, {x}, {{Attr::axis, 4}}); });
    error_of([&] { g.add(Op::softmax, {x}, {{Attr::axis, -5}}); });
    error_of([&] { g.add(Op::clip, {x}, {{Attr::least, std::numeric_limits<double>::quiet_NaN()}}); });
    error_of([&] { g.add(Op::layer_norm, {x}, {{Attr::epsilon, -1.0}}); });
}

TEST(Builder, AConvolutionThatDoesNotFitNamesBothShapes) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {1, 8, 4, 4});
    const TensorId w = g.weight("w", DType::f32, {64, 3, 3, 3});
    EXPECT_EQ(error_of([&] {
                  g.add(Op::conv, {x, w}, {{Attr::group, 2}});
              }),
              "Conv: w [64, 3, 3, 3] wants 3 input channels times group 2, x [1, 8, 4, 4] has 8");
    const TensorId wide = g.weight("wide", DType::f32, {4, 8, 5, 5});
    EXPECT_NE(error_of([&] { g.add(Op::conv, {x, wide}, {}, "first"); }).find("Conv 'first'"), std::string::npos);
    const TensorId good = g.weight("good", DType::f32, {4, 8, 3, 3});
    error_of([&] { g.add(Op::conv, {x, good}, {{Attr::strides, {0, 1}}}); });
    error_of([&] { g.add(Op::conv, {x, good}, {{Attr::pads, {1, 1}}}); });
    error_of([&] { g.add(Op::conv, {x, good}, {{Attr::pads, {-1, 0, 0, 0}}}); });
    error_of([&] { g.add(Op::conv, {x, good}, {{Attr::dilations, {2, 2}}}); });
    error_of([&] { g.add(Op::conv, {x, good, g.weight("b", DType::f32, {5})}); });
    error_of([&] { g.add(Op::conv, {x, good, g.weight("b", DType::f16, {4})}); });
}

TEST(Builder, ATransposedConvolutionThatDoesNotFitSaysWhy) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {1, 8, 4, 4});
    const TensorId w = g.weight("w", DType::f32, {8, 3, 3, 3});
    const auto said = [&](const std::vector<Attribute>& how) {
        return error_of([&] { g.add(Op::conv_transpose, {x, w}, how); });
    };
    EXPECT_EQ(said({{Attr::pads, List{3, 0, 4, 0}}}),
              "ConvTranspose: pads cut 7 off the 6 elements that axis 2 of the result has, x [1, 8, 4, 4]");
    EXPECT_EQ(said({{Attr::strides, List{2, 2}}, {Attr::output_padding, List{0, 2}}}),
              "ConvTranspose: attribute output_padding of axis 3 is 2, must be less than the stride or the dilation");
    EXPECT_NE(said({{Attr::group, 3}}), "");
    EXPECT_NE(said({{Attr::output_padding, List{0}}}), "");
    const TensorId none = g.input("none", DType::f32, {1, 8, 0, 4});
    EXPECT_NE(error_of([&] { g.add(Op::conv_transpose, {none, w}); }).find("empty axis 2"), std::string::npos);
    EXPECT_NE(error_of([&] { g.add(Op::conv_transpose, {x, g.weight("v", DType::f32, {4, 3, 3, 3})}); }), "");
    EXPECT_NE(error_of([&] { g.add(Op::conv_transpose, {x, w, g.weight("b", DType::f32, {8})}); }), "");
}

TEST(Builder, ShapesThatDoNotFitAreRefused) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {2, 6, 4, 4});
    const TensorId v = g.input("v", DType::f32, {5});
    error_of([&] { g.add(Op::add, {x, v}); });
    error_of([&] { g.add(Op::matmul, {x, v}); });
    error_of([&] { g.add(Op::matmul, {x, g.input("m", DType::f32, {3, 4, 4})}); });
    error_of([&] { g.add(Op::concat, {x, v}, {{Attr::axis, 0}}); });
    error_of([&] { g.add(Op::reshape, {x}, {{Attr::shape, {-1, 5}}}); });
    error_of([&] { g.add(Op::reshape, {x}, {{Attr::shape, {-1, -1}}}); });
    error_of([&] { g.add(Op::transpose, {x}, {{Attr::perm, {0, 1, 2, 2}}}); });
    error_of([&] { g.add(Op::transpose, {x}, {{Attr::perm, {0, 1}}}); });
    error_of([&] { g.add(Op::depth_to_space, {x}, {{Attr::blocksize, 2}}); });
    error_of([&] { g.add(Op::slice, {x}, {{Attr::starts, {0}}, {Attr::ends, {1}}}); });
    error_of([&] { g.add(Op::pad, {x}, {{Attr::pads, {0, 0, 4, 0, 0, 0, 0, 0}}, {Attr::mode, BP_PAD_REFLECT}}); });
    error_of([&] { g.add(Op::group_norm, {x}, {{Attr::groups, 4}}); });
    error_of([&] { g.add(Op::layer_norm, {x, v}); });
    error_of([&] { g.add(Op::reduce_sum, {x}, {{Attr::axes, {1, -3}}}); });
    error_of([&] { g.add(Op::reduce_max, {g.input("none", DType::f32, {3, 0})}, {{Attr::axes, 1}}); });
    error_of([&] { g.add(Op::gather, {g.input("void", DType::f32, {0, 2}), g.input("i", DType::i64, {1})}); });
    error_of([&] { g.add(Op::resize, {x}, {{Attr::sizes, {8}}}); });
}

TEST(Builder, ElementTypesThatDoNotFitAreRefused) {
    Graph g;
    const TensorId f = g.input("f", DType::f32, {2, 32});
    const TensorId h = g.input("h", DType::f16, {2, 32});
    const TensorId i = g.input("i", DType::i32, {2, 32});
    const TensorId q = g.weight("q", DType::q8_0, {2, 32});
    error_of([&] { g.add(Op::exp, {i}); });
    error_of([&] { g.add(Op::add, {f, h}); });
    error_of([&] { g.add(Op::pow, {i, f}); });
    error_of([&] { g.add(Op::reshape, {q}, {{Attr::shape, {64}}}); });
    error_of([&] { g.add(Op::matmul, {h, q}, {{Attr::transpose_b, 1}}); });
    error_of([&] { g.add(Op::matmul, {g.input("l", DType::f32, {32, 2}), q}); });
    error_of([&] { g.add(Op::gather, {f, f}); });
    error_of([&] { g.add(Op::cast, {f}, {{Attr::to, BP_Q4_0}}); });
    error_of([&] { g.add(Op::cast, {q}, {{Attr::to, BP_I8}}); });
    error_of([&] { g.add(Op::cast, {f}, {{Attr::to, 99}}); });
    error_of([&] { g.add(Op::concat, {f, h}, {{Attr::axis, 0}}); });
    EXPECT_EQ(g[g.add(Op::matmul, {f, q}, {{Attr::transpose_b, 1}})].dtype, DType::f32);
    EXPECT_EQ(g[g.add(Op::matmul, {f, h}, {{Attr::transpose_b, 1}})].dtype, DType::f32);
    EXPECT_EQ(g[g.add(Op::add, {i, i})].dtype, DType::i32);
}

TEST(Builder, ResultsMustBeWhatANodeWroteAndNothingElse) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {4});
    const TensorId s = g.state("s", DType::f32, {4});
    const TensorId y = g.add(Op::relu, {x});
    const TensorId z = g.add(Op::add, {x, s});
    error_of([&] { g.output(x, "y"); });
    error_of([&] { g.output(s, "y"); });
    g.output(y, "y");
    error_of([&] { g.output(y, "again"); });
    error_of([&] { g.output(z, "y"); });
    error_of([&] { g.update(x, z); });
    error_of([&] { g.update(s, x); });
    error_of([&] { g.update(s, y); });
    error_of([&] { g.update(s, g.add(Op::reshape, {z}, {{Attr::shape, {2, 2}}})); });
    g.update(s, z);
    EXPECT_EQ(g[z].role, Role::state);
    EXPECT_EQ(g[z].state_in, s.index + 1);
    error_of([&] { g.update(s, g.add(Op::relu, {s})); });
    error_of([&] { g.update(z, g.add(Op::relu, {s})); });
    error_of([&] { g.input("x", DType::f32, {}); });
    error_of([&] { g.constant("c", DType::f32, {2}, std::vector<std::byte>(7)); });
}

TEST(Builder, AttributesAreFilledInAndBroughtToTheirFinalForm) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {2, 3, 8, 9});
    g.add(Op::conv, {x, g.weight("w", DType::f32, {4, 3, 3, 3}), no_tensor});
    EXPECT_EQ(g.nodes().back().inputs.size(), 2U) << "inputs left out at the end have one form";
    const graph::AttributeView conv(g.nodes().back().attributes);
    EXPECT_EQ(conv.integers(Attr::strides), (std::vector<int64_t>{1, 1}));
    EXPECT_EQ(conv.integers(Attr::pads), (std::vector<int64_t>{0, 0, 0, 0}));
    EXPECT_EQ(conv.integer(Attr::group), 1);
    g.add(Op::softmax, {x});
    EXPECT_EQ(graph::AttributeView(g.nodes().back().attributes).integer(Attr::axis), 3);
    g.add(Op::reduce_sum, {x}, {{Attr::axes, {-1, 0}}});
    EXPECT_EQ(graph::AttributeView(g.nodes().back().attributes).integers(Attr::axes), (std::vector<int64_t>{0, 3}));
    g.add(Op::transpose, {x});
    EXPECT_EQ(graph::AttributeView(g.nodes().back().attributes).integers(Attr::perm), (std::vector<int64_t>{3, 2, 1, 0}));
    const TensorId s = g.add(Op::slice, {x}, {{Attr::starts, {0, -2, 1, 3}}, {Attr::ends, {INT64_MAX, INT64_MAX, -1, 2}}});
    EXPECT_EQ(g[s].shape, (Shape{2, 2, 6, 0}));
    EXPECT_EQ(graph::AttributeView(g.nodes().back().attributes).integers(Attr::ends), (std::vector<int64_t>{2, 3, 7, 3}));
    EXPECT_EQ(g[g.add(Op::reshape, {x}, {{Attr::shape, {6, -1}}})].shape, (Shape{6, 72}));
    g.add(Op::leaky_relu, {x}, {{Attr::alpha, 1}});
    EXPECT_EQ(graph::AttributeView(g.nodes().back().attributes).number(Attr::alpha), 1.0);
    for (const Node& n : g.nodes())
        for (size_t i = 1; i < n.attributes.size(); ++i) EXPECT_LT(n.attributes[i - 1].id, n.attributes[i].id);
}

TEST(Builder, EveryOpOfTheTableIsDefinedUnderItsName) {
    std::set<std::string> names;
    for (const Op op : all_ops()) {
        const graph::OpDefinition* d = graph::find_op(op);
        ASSERT_NE(d, nullptr) << name_of(op);
        EXPECT_EQ(d->op(), op);
        EXPECT_STREQ(d->name(), name_of(op));
        EXPECT_NE(std::string(d->description.summary), "");
        EXPECT_TRUE(d->description.shape != nullptr && d->reference != nullptr) << name_of(op);
        EXPECT_TRUE(names.insert(d->name()).second);
        EXPECT_EQ(op_from_name(d->name()), op);
    }
    EXPECT_EQ(op_from_name("layer_norm"), Op::layer_norm);
    EXPECT_EQ(op_from_name("RMSNorm"), Op::rms_norm) << "as files from before have it";
    EXPECT_EQ(op_from_name("nothing"), Op::unknown);
    EXPECT_EQ(op_from_name("NonZero"), Op::unknown);
    EXPECT_NE(why_no_op("NonZero").find("depends on the values"), std::string_view::npos);
    EXPECT_EQ(why_no_op("nothing"), "");
    EXPECT_EQ(graph::find_op(Op::unknown), nullptr);
}

}  // namespace
}  // namespace backplane
