// References and shape rules of the remainders, the reductions beside sums and extremes, and LogSoftmax.
#include <cmath>

#include "backplane/ops.hpp"
#include "graphs.hpp"

namespace backplane {
namespace {

TEST(Mod, TakesTheSignOfTheDivisorOrWithFmodOfTheDividend) {
    const Given a{{6}, {7, -7, 7, -7, 5, -2147483648.0}, DType::i32};
    const Given b{{6}, {3, 3, -3, -3, 0, -1}, DType::i32};
    EXPECT_EQ(run_op(Op::mod, {a, b}), (Numbers{1, 2, -2, -1, 0, 0}));
    EXPECT_EQ(run_op(Op::mod, {a, b}, {{Attr::fmod, 1}}), (Numbers{1, -1, 1, -1, 0, 0}));
    EXPECT_EQ(run_op(Op::mod, {{{3}, {5.5, -5.5, 1e30}}, {{3}, {-2, 2, kInf}}}, {{Attr::fmod, 1}})[1], -1.5);
    EXPECT_TRUE(std::isnan(run_op(Op::mod, {{{1}, {kInf}}, {{1}, {2}}}, {{Attr::fmod, 1}})[0]));
}

TEST(PRelu, HasASlopeForEachChannel) {
    EXPECT_EQ(run_op(Op::p_relu, {{{2, 2}, {-1, 2, -3, -4}}, {{2}, {0.5, 10}}}), (Numbers{-0.5, 2, -1.5, -40}));
    EXPECT_EQ(run_op(Op::p_relu, {{{3}, {-3, 0, 4}, DType::i32}, {{}, {-2}, DType::i32}}), (Numbers{6, 0, 4}));
}

TEST(Reductions, OfNothingAndOfWholeNumbers) {
    const Given x{{2, 3}, {1, -2, 3, 4, 5, -6}};
    const std::vector<Attribute> rows{{Attr::axes, List{1}}, {Attr::keepdims, 0}};
    EXPECT_EQ(run_op(Op::reduce_prod, {x}, rows), (Numbers{-6, -120}));
    EXPECT_EQ(run_op(Op::reduce_l1, {x}, rows), (Numbers{6, 15}));
    EXPECT_EQ(run_op(Op::reduce_sum_square, {x}, rows), (Numbers{14, 77}));
    expect_close(run_op(Op::reduce_l2, {x}, rows), {std::sqrt(14.0), std::sqrt(77.0)});
    expect_close(run_op(Op::reduce_log_sum_exp, {{{2}, {1000, 1000}}}), {1000 + std::log(2.0)}, 1e-4);
    const Given nothing{{1, 0}, {}};
    EXPECT_EQ(run_op(Op::reduce_prod, {nothing}, rows), (Numbers{1}));
    EXPECT_EQ(run_op(Op::reduce_l1, {nothing}, rows), (Numbers{0}));
    EXPECT_EQ(run_op(Op::reduce_log_sum_exp, {nothing}, rows), (Numbers{-kInf}));
    EXPECT_EQ(run_op(Op::reduce_log_sum_exp, {{{2}, {-kInf, -kInf}}}), (Numbers{-kInf}));
    EXPECT_EQ(run_op(Op::reduce_log_sum_exp, {{{2}, {0, kInf}}}), (Numbers{kInf}));
    const Given large{{3}, {2147483647, 2147483647, 2147483647}, DType::i32};
    EXPECT_EQ(run_op(Op::reduce_prod, {large}), (Numbers{2147483647})) << "a product a double does not hold";
    EXPECT_EQ(run_op(Op::reduce_sum_square, {large}), (Numbers{3}));
    EXPECT_EQ(run_op(Op::reduce_l1, {{{2}, {-2147483648.0, 1}, DType::i32}}), (Numbers{-2147483647}));
}

TEST(LogSoftmax, DoesNotUnderflowWhereSoftmaxDoes) {
    expect_close(run_op(Op::log_softmax, {{{2}, {0, 2000}}}, {{Attr::axis, 0}}), {-2000, 0});
    EXPECT_EQ(run_op(Op::log_softmax, {{{2}, {-kInf, 3}}}, {{Attr::axis, 0}}), (Numbers{-kInf, 0}));
}

TEST(Reductions, RefusalsNameShapesAndTypes) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {2, 3});
    const TensorId i = g.input("i", DType::i32, {2, 3});
    const auto said = [](auto&& body) { return error_of(body); };
    EXPECT_EQ(said([&] { ops::mod(g, x, x); }), "Mod: takes floats with the attribute fmod = 1 only, not a f32 [2, 3]");
    EXPECT_EQ(said([&] {
                  ops::p_relu(g, x, g.input("s", DType::f32, {2, 1, 3}));
              }),
              "PRelu: slope [2, 1, 3] does not broadcast to x [2, 3]");
    EXPECT_EQ(said([&] { ops::p_relu(g, x, g.input("t", DType::f32, {2})); }),
              "PRelu: x [2, 3] and slope [2] do not broadcast");
    EXPECT_EQ(said([&] { ops::reduce_l2(g, i); }), "ReduceL2: takes f32, f16, bf16 or f64, not x i32 [2, 3]");
    EXPECT_EQ(g[ops::mod(g, i, i)].shape, (Shape{2, 3}));
    EXPECT_EQ(g[ops::reduce_prod(g, x, {.axes = {-1}, .keepdims = false})].shape, (Shape{2}));
}

}  // namespace
}  // namespace backplane
