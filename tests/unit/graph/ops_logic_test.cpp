// References and shape rules of the ops that judge elements, and of Where.

#include "backplane/ops.hpp"
#include "graphs.hpp"

namespace backplane {
namespace {

TEST(Comparison, WithNaNIsFalseAndZerosAreEqual) {
    const Given a{{5}, {kNan, 1, kNan, -0.0, kInf}};
    const Given b{{5}, {kNan, kNan, 1, 0.0, kInf}};
    EXPECT_EQ(run_op(Op::equal, {a, b}), (Numbers{0, 0, 0, 1, 1}));
    EXPECT_EQ(run_op(Op::less, {a, b}), (Numbers{0, 0, 0, 0, 0}));
    EXPECT_EQ(run_op(Op::greater, {a, b}), (Numbers{0, 0, 0, 0, 0}));
    EXPECT_EQ(run_op(Op::less_or_equal, {a, b}), (Numbers{0, 0, 0, 1, 1}));
    EXPECT_EQ(run_op(Op::greater_or_equal, {a, b}), (Numbers{0, 0, 0, 1, 1}));
}

TEST(Comparison, BroadcastsAndGivesBool) {
    TensorInfo out;
    EXPECT_EQ(run_op(Op::less, {{{2, 1}, {1, 2}, DType::i32}, {{3}, {1, 2, 3}, DType::i32}}, {}, &out),
              (Numbers{0, 1, 1, 0, 0, 1}));
    EXPECT_EQ(out.shape, (Shape{2, 3}));
    EXPECT_EQ(out.dtype, DType::boolean);
    EXPECT_TRUE(run_op(Op::greater, {{{0, 3}, {}}, {{3}, {1, 2, 3}}}).empty());
}

TEST(Truth, HasTheTablesOfItsOps) {
    const Given a{{4}, {0, 0, 1, 1}, DType::boolean};
    const Given b{{4}, {0, 1, 0, 1}, DType::boolean};
    EXPECT_EQ(run_op(Op::logical_and, {a, b}), (Numbers{0, 0, 0, 1}));
    EXPECT_EQ(run_op(Op::logical_or, {a, b}), (Numbers{0, 1, 1, 1}));
    EXPECT_EQ(run_op(Op::logical_xor, {a, b}), (Numbers{0, 1, 1, 0}));
    EXPECT_EQ(run_op(Op::equal, {a, b}), (Numbers{1, 0, 0, 1}));
    EXPECT_EQ(run_op(Op::logical_not, {a}), (Numbers{1, 1, 0, 0}));
}

TEST(Judgement, OfInfinitiesCountsTheSignsThatAreAskedFor) {
    const Given x{{4}, {-kInf, kInf, kNan, 1}};
    EXPECT_EQ(run_op(Op::is_nan, {x}), (Numbers{0, 0, 1, 0}));
    EXPECT_EQ(run_op(Op::is_inf, {x}), (Numbers{1, 1, 0, 0}));
    EXPECT_EQ(run_op(Op::is_inf, {x}, {{Attr::detect_negative, 0}}), (Numbers{0, 1, 0, 0}));
    EXPECT_EQ(run_op(Op::is_inf, {x}, {{Attr::detect_positive, 0}}), (Numbers{1, 0, 0, 0}));
}

TEST(Where, PicksWithAllThreeBroadcast) {
    TensorInfo out;
    EXPECT_EQ(run_op(Op::where, {{{2, 1}, {1, 0}, DType::boolean}, {{3}, {1, 2, 3}}, {{}, {9}}}, {}, &out),
              (Numbers{1, 2, 3, 9, 9, 9}));
    EXPECT_EQ(out.shape, (Shape{2, 3}));
}

TEST(Logic, RefusalsNameShapesAndTypes) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {2, 3});
    const TensorId y = g.input("y", DType::f32, {4});
    const TensorId i = g.input("i", DType::i32, {2, 3});
    const TensorId c = g.input("c", DType::boolean, {5, 1, 1});
    const auto said = [](auto&& body) { return error_of(body); };
    EXPECT_EQ(said([&] { ops::less(g, x, y); }), "Less: a [2, 3] and b [4] do not broadcast");
    EXPECT_EQ(said([&] { ops::equal(g, x, i); }), "Equal: b i32 [2, 3] must have the element type of a f32 [2, 3]");
    EXPECT_EQ(said([&] { ops::less(g, c, c); }), "Less: takes f32, f16, bf16, f64, i32 or i64, not a bool [5, 1, 1]");
    EXPECT_EQ(said([&] { ops::logical_and(g, x, x); }), "And: takes bool, not a f32 [2, 3]");
    EXPECT_EQ(said([&] { ops::where(g, x, x, x); }), "Where: takes bool, not condition f32 [2, 3]");
    EXPECT_EQ(said([&] { ops::where(g, c, x, y); }), "Where: condition [5, 1, 1], x [2, 3] and y [4] do not broadcast");
    EXPECT_EQ(said([&] { ops::where(g, ops::equal(g, y, y), x, x); }),
              "Where: condition [4], x [2, 3] and y [2, 3] do not broadcast");
    EXPECT_EQ(g[ops::where(g, c, x, x)].shape, (Shape{5, 2, 3}));
    EXPECT_EQ(g[ops::is_inf(g, x, {.detect_negative = false})].dtype, DType::boolean);
}

}  // namespace
}  // namespace backplane
