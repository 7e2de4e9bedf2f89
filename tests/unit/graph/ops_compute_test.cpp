// References of the ops that compute, against values worked out by hand or known to more digits than are compared.
#include <cmath>
#include <numbers>

#include "graphs.hpp"

namespace backplane {
namespace {

double one(Op op, double x, std::vector<Attribute> attributes = {}) {
    return run_op(op, {{{}, {x}, DType::f64}}, std::move(attributes))[0];
}

TEST(Unary, KeepsInfinitiesAndNaN) {
    for (const Op op : {Op::exp,        Op::erf,      Op::relu,         Op::leaky_relu, Op::sigmoid, Op::tanh,  Op::gelu,
                        Op::silu,       Op::softplus, Op::clip,         Op::abs,        Op::neg,     Op::log,   Op::sqrt,
                        Op::reciprocal, Op::sin,      Op::cos,          Op::floor,      Op::ceil,    Op::round, Op::sign,
                        Op::elu,        Op::selu,     Op::hard_sigmoid, Op::hard_swish, Op::mish})
        EXPECT_TRUE(std::isnan(one(op, kNan))) << name_of(op);
    EXPECT_EQ(one(Op::sigmoid, -kInf), 0);
    EXPECT_EQ(one(Op::sigmoid, 1e6), 1);
    EXPECT_EQ(one(Op::silu, -kInf), 0);
    EXPECT_EQ(one(Op::gelu, -kInf), 0);
    EXPECT_EQ(one(Op::gelu, kInf, {{Attr::approximate, 1}}), kInf);
    EXPECT_EQ(one(Op::softplus, kInf), kInf);
    EXPECT_EQ(one(Op::softplus, -kInf), 0);
    EXPECT_EQ(one(Op::log, 0), -kInf);
    EXPECT_EQ(one(Op::reciprocal, -0.0), -kInf);
}

TEST(Unary, KnownValues) {
    EXPECT_NEAR(one(Op::erf, 0.5), 0.5204998778130465, 1e-15);
    EXPECT_NEAR(one(Op::sigmoid, -2), 0.11920292202211755, 1e-15);
    EXPECT_NEAR(one(Op::silu, -2), -0.2384058440442351, 1e-15);
    EXPECT_NEAR(one(Op::gelu, 1), 0.8413447460685429, 1e-15);
    EXPECT_NEAR(one(Op::gelu, 1, {{Attr::approximate, 1}}), 0.8411919906082768, 1e-12);
    EXPECT_NEAR(one(Op::gelu, -10) / -7.619853024160526e-23, 1.0, 1e-9) << "digits kept far to the left";
    EXPECT_NEAR(one(Op::softplus, 1), 1.3132616875182228, 1e-15);
    EXPECT_NEAR(one(Op::softplus, -40), std::exp(-40), 1e-30);
    EXPECT_NEAR(one(Op::sin, std::numbers::pi / 6), 0.5, 1e-15);
    EXPECT_NEAR(one(Op::cos, std::numbers::pi / 3), 0.5, 1e-15);
    EXPECT_EQ(one(Op::leaky_relu, -2), -0.02);
    EXPECT_EQ(one(Op::leaky_relu, -2, {{Attr::alpha, 0.5}}), -1);
    EXPECT_EQ(one(Op::round, 2.5), 2) << "halves go to the even number";
    EXPECT_EQ(one(Op::round, -3.5), -4);
    EXPECT_EQ(one(Op::floor, -0.5), -1);
    EXPECT_EQ(one(Op::ceil, 0.5), 1);
    EXPECT_EQ(one(Op::sign, -0.1), -1);
    EXPECT_NEAR(one(Op::elu, -1), -0.6321205588285577, 1e-15);
    EXPECT_NEAR(one(Op::selu, -1), -1.1113307378125625, 1e-7);
    EXPECT_NEAR(one(Op::hard_sigmoid, 1), 0.7, 1e-15);
    EXPECT_NEAR(one(Op::hard_swish, 1), 2.0 / 3.0, 1e-15);
    EXPECT_EQ(one(Op::hard_swish, -kInf), 0);
    EXPECT_NEAR(one(Op::mish, 1), 0.8650983882673103, 1e-15);
    EXPECT_EQ(one(Op::mish, -kInf), 0);
    EXPECT_EQ(one(Op::relu, -3), 0);
    EXPECT_EQ(one(Op::sqrt, 9), 3);
    EXPECT_EQ(one(Op::reciprocal, 4), 0.25);
}

TEST(Unary, IntegersWrapAsTheHardwareDoes) {
    EXPECT_EQ(run_op(Op::neg, {{{2}, {5, -2147483648.0}, DType::i32}}), (Numbers{-5, -2147483648.0}));
    EXPECT_EQ(run_op(Op::abs, {{{2}, {-5, -2147483648.0}, DType::i32}}), (Numbers{5, -2147483648.0}));
    EXPECT_EQ(run_op(Op::clip, {{{3}, {-5, 0, 5}, DType::i64}}, {{Attr::least, -1.5}, {Attr::most, 2.5}}),
              (Numbers{-1, 0, 2}));
    EXPECT_EQ(run_op(Op::clip, {{{3}, {-5, 0, 5}}}, {{Attr::least, 4.0}, {Attr::most, 1.0}}), (Numbers{1, 1, 1}));
}

TEST(Binary, BroadcastsBothWays) {
    TensorInfo out;
    EXPECT_EQ(run_op(Op::sub, {{{2, 1}, {10, 20}}, {{3}, {1, 2, 3}}}, {}, &out), (Numbers{9, 8, 7, 19, 18, 17}));
    EXPECT_EQ(out.shape, (Shape{2, 3}));
    EXPECT_TRUE(run_op(Op::add, {{{0, 3}, {}}, {{3}, {1, 2, 3}}}).empty());
    EXPECT_TRUE(run_op(Op::add, {{{0}, {}}, {{1}, {1}}}).empty());
    EXPECT_EQ(run_op(Op::mul, {{{}, {3}}, {{2}, {1, 2}}}), (Numbers{3, 6}));
}

TEST(Binary, IntegerArithmeticIsModuloAndDivisionTruncates) {
    const Given most{{1}, {2147483647}, DType::i32};
    const Given two{{1}, {2}, DType::i32};
    EXPECT_EQ(run_op(Op::add, {most, two})[0], -2147483647);
    EXPECT_EQ(run_op(Op::mul, {most, two})[0], -2);
    EXPECT_EQ(run_op(Op::mul, {most, most})[0], 1) << "a product a double does not hold";
    EXPECT_EQ(run_op(Op::div, {{{4}, {-7, 7, 5, -2147483648.0}, DType::i32}, {{4}, {2, -2, 0, -1}, DType::i32}}),
              (Numbers{-3, -3, 0, -2147483648.0}));
    EXPECT_EQ(run_op(Op::max, {{{2}, {-1, 4}, DType::i64}, {{2}, {1, 3}, DType::i64}}), (Numbers{1, 4}));
}

TEST(Binary, NaNInEitherOperandOfMaxAndMinGivesNaN) {
    for (const Op op : {Op::max, Op::min}) {
        const Numbers y = run_op(op, {{{2}, {kNan, 1}}, {{2}, {1, kNan}}});
        EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1])) << name_of(op);
    }
    EXPECT_EQ(run_op(Op::pow, {{{2}, {2, -2}}, {{2}, {10, 3}}}), (Numbers{1024, -8}));
    EXPECT_EQ(run_op(Op::div, {{{2}, {1, -1}}, {{}, {0}}}), (Numbers{kInf, -kInf}));
}

TEST(Conv, PadsWithZerosOnEachSideAlone) {
    // 1 x 1 x 2 x 2 with one more row above and one more column to the right.
    EXPECT_EQ(run_op(Op::conv, {{{1, 1, 2, 2}, {1, 2, 3, 4}}, {{1, 1, 2, 2}, {1, 10, 100, 1000}}, {{1}, {0.5}}},
                     {{Attr::pads, List{1, 0, 0, 1}}}),
              (Numbers{2100.5, 200.5, 4321.5, 402.5}));
}

TEST(Conv, StridesAndDilationsPerAxis) {
    // Rows 0 and 2 (dilation 2), columns 0 and 1; strides 1 down, 2 across.
    TensorInfo out;
    EXPECT_EQ(run_op(Op::conv, {{{1, 1, 4, 4}, counting(16)}, {{1, 1, 2, 2}, {1, 10, 100, 1000}}},
                     {{Attr::strides, List{1, 2}}, {Attr::dilations, List{2, 1}}}, &out),
              (Numbers{9810, 12032, 14254, 16476}));
    EXPECT_EQ(out.shape, (Shape{1, 1, 2, 2}));
}

TEST(Conv, GroupsSeeTheirOwnChannels) {
    // 4 channels, 2 groups, 2 outputs each; 1 x 1 kernels.
    EXPECT_EQ(
        run_op(Op::conv, {{{1, 4, 1, 1}, {1, 2, 3, 4}}, {{4, 2, 1, 1}, {1, 0, 0, 1, 1, 1, 10, 100}}}, {{Attr::group, 2}}),
        (Numbers{1, 2, 7, 430}));
}

TEST(ConvTranspose, AddsTheFilterAroundEachElementAndCutsOffPads) {
    // The vectors of ONNX: test_convtranspose_dilations; then strides, one more row behind the end, and pads.
    EXPECT_EQ(run_op(Op::conv_transpose, {{{1, 1, 3, 3}, {3, 8, 1, 9, 5, 7, 3, 2, 6}}, {{1, 1, 2, 2}, {7, 2, 1, 9}}},
                     {{Attr::dilations, List{2, 2}}}),
              (Numbers{21, 56, 13, 16, 2, 63, 35, 67, 10, 14, 24, 22, 76, 76, 21, 9, 5, 88, 45, 63, 3, 2, 33, 18, 54}));
    TensorInfo out;
    EXPECT_EQ(
        run_op(Op::conv_transpose, {{{1, 1, 2, 1}, {1, 10}}, {{1, 2, 2, 1}, {1, 2, 3, 4}}, {{2}, {0.5, 0}}},
               {{Attr::strides, List{3, 1}}, {Attr::pads, List{1, 0, 0, 0}}, {Attr::output_padding, List{2, 0}}}, &out),
        (Numbers{2.5, 0.5, 10.5, 20.5, 0.5, 0.5, 4, 0, 30, 40, 0, 0}));
    EXPECT_EQ(out.shape, (Shape{1, 2, 6, 1}));
}

TEST(ConvTranspose, GroupsHaveFiltersOfTheirOwn) {
    EXPECT_EQ(
        run_op(Op::conv_transpose, {{{1, 4, 1}, {1, 2, 3, 4}}, {{4, 2, 1}, {1, 2, 3, 4, 5, 6, 7, 8}}}, {{Attr::group, 2}}),
        (Numbers{7, 10, 43, 50}));
}

TEST(Conv, SumsOverChannelsAndBatchesAndTakesHalfWeights) {
    EXPECT_EQ(run_op(Op::conv, {{{2, 2, 1, 2}, counting(8)}, {{1, 2, 1, 1}, {1, 10}, DType::f16}}),
              (Numbers{20, 31, 64, 75}));
    EXPECT_TRUE(run_op(Op::conv, {{{0, 2, 1, 2}, {}}, {{1, 2, 1, 1}, {1, 10}}}).empty());
}

TEST(MatMul, BatchesBroadcastAndOperandsTranspose) {
    const Given a{{2, 1, 2, 3}, counting(12)};
    const Given b{{2, 3, 1}, {1, 2, 3, 1, 0, -1}};
    TensorInfo out;
    EXPECT_EQ(run_op(Op::matmul, {a, b}, {}, &out), (Numbers{8, 26, -2, -2, 44, 62, -2, -2}));
    EXPECT_EQ(out.shape, (Shape{2, 2, 2, 1}));
    const Numbers wanted{14, 32, 32, 77};
    EXPECT_EQ(run_op(Op::matmul, {{{2, 3}, counting(6, 1)}, {{2, 3}, counting(6, 1)}}, {{Attr::transpose_b, 1}}), wanted);
    EXPECT_EQ(run_op(Op::matmul, {{{3, 2}, {1, 4, 2, 5, 3, 6}}, {{3, 2}, {1, 4, 2, 5, 3, 6}}}, {{Attr::transpose_a, 1}}),
              wanted);
}

TEST(MatMul, OfNothingIsZeros) {
    EXPECT_EQ(run_op(Op::matmul, {{{2, 0}, {}}, {{0, 2}, {}}}), (Numbers{0, 0, 0, 0}));
    EXPECT_TRUE(run_op(Op::matmul, {{{0, 2}, {}}, {{2, 2}, counting(4)}}).empty());
}

TEST(MatMul, TakesBlockWeightsAlongK) {
    Numbers weights(64);
    for (size_t i = 0; i < 64; ++i) weights[i] = i < 32 ? static_cast<double>(i) * 8 - 127 : (i == 40 ? 127 : 0);
    Numbers x(32, 0);
    x[1] = 2;
    x[8] = 1;
    EXPECT_EQ(run_op(Op::matmul, {{{1, 32}, x}, {{2, 32}, weights, DType::q8_0}}, {{Attr::transpose_b, 1}}),
              (Numbers{-301, 127}));
}

TEST(Softmax, SurvivesLargeValuesAndWorksAlongAnyAxis) {
    expect_close(run_op(Op::softmax, {{{2}, {1000, 1000}}}), {0.5, 0.5});
    const double e = std::exp(1);
    expect_close(run_op(Op::softmax, {{{2, 2}, {0, 5, 1, 5}}}, {{Attr::axis, 0}}), {1 / (1 + e), 0.5, e / (1 + e), 0.5});
    expect_close(run_op(Op::softmax, {{{2}, {-kInf, 3}}}), {0, 1});
    EXPECT_TRUE(run_op(Op::softmax, {{{2, 0}, {}}}).empty());
}

TEST(Softmax, OfNothingButMinusInfinityIsNaNThereAlone) {
    const Numbers y = run_op(Op::softmax, {{{2, 2}, {-kInf, -kInf, -kInf, 3}}});
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
    EXPECT_EQ(y[2], 0);
    EXPECT_EQ(y[3], 1);
    for (const double v : run_op(Op::softmax, {{{2, 1}, {-kInf, -kInf}}}, {{Attr::axis, 0}})) EXPECT_TRUE(std::isnan(v));
}

TEST(LayerNorm, NormalisesFromAnAxisOn) {
    const double r = std::sqrt(1.25);
    expect_close(run_op(Op::layer_norm, {{{1, 2, 2}, counting(4)}}, {{Attr::axis, 1}, {Attr::epsilon, 0.0}}),
                 {-1.5 / r, -0.5 / r, 0.5 / r, 1.5 / r});
    expect_close(run_op(Op::layer_norm, {{{2, 2}, {0, 2, 5, 5}}, {{2}, {10, 20}}, {{2}, {1, 2}}}, {{Attr::epsilon, 0.0001}}),
                 {1 - 10 / std::sqrt(1.0001), 2 + 20 / std::sqrt(1.0001), 1, 2}, 1e-5);
}

TEST(LayerNorm, ABiasWithoutAScaleIsTaken) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {2});
    const TensorId y =
        g.add(Op::layer_norm, {x, no_tensor, g.constant("b", DType::f32, {2}, graph::encode(Numbers{1, 2}, DType::f32))},
              {{Attr::epsilon, 0.0}});
    g.output(y, "y");
    const std::vector<std::byte> in = graph::encode(Numbers{3, 5}, DType::f32);
    const graph::TensorBytes given[] = {{x, in}};
    EXPECT_EQ(graph::evaluate_values(g, given)[y.index].data, (Numbers{0, 3}));
}

TEST(RMSNorm, DividesByTheRootMeanSquare) {
    const double r = std::sqrt(12.5);
    expect_close(run_op(Op::rms_norm, {{{1, 2}, {3, 4}}, {{2}, {1, 2}}}, {{Attr::epsilon, 0.0}}), {3 / r, 8 / r});
}

TEST(BatchNorm, UsesTheStatisticsOfEachChannel) {
    expect_close(
        run_op(Op::batch_norm, {{{1, 2, 2}, {1, 3, 10, 20}}, {{2}, {2, 1}}, {{2}, {0, 5}}, {{2}, {1, 10}}, {{2}, {4, 25}}},
               {{Attr::epsilon, 0.0}}),
        {0, 2, 5, 7});
}

TEST(GroupNorm, NormalisesRunsOfChannels) {
    // Two groups of two channels of one pixel each, with a batch of two.
    expect_close(run_op(Op::group_norm, {{{2, 4, 1}, {0, 2, 10, 30, 1, 1, -4, 4}}, {{4}, {1, 2, 3, 4}}, {{4}, {0, 0, 1, 1}}},
                        {{Attr::groups, 2}, {Attr::epsilon, 0.0000001}}),
                 {-1, 2, -2, 5, 0, 0, -2, 5}, 1e-5);
    expect_close(run_op(Op::group_norm, {{{1, 2, 2}, {0, 1, 2, 3}}}, {{Attr::groups, 1}, {Attr::epsilon, 0.0}}),
                 {-1.5 / std::sqrt(1.25), -0.5 / std::sqrt(1.25), 0.5 / std::sqrt(1.25), 1.5 / std::sqrt(1.25)});
}

TEST(Reduce, OverSomeAllAndNoElements) {
    TensorInfo out;
    const Given x{{2, 3}, {1, 5, -2, 4, 0, 3}};
    EXPECT_EQ(run_op(Op::reduce_sum, {x}, {{Attr::axes, 0}}, &out), (Numbers{5, 5, 1}));
    EXPECT_EQ(out.shape, (Shape{1, 3}));
    EXPECT_EQ(run_op(Op::reduce_max, {x}, {{Attr::axes, -1}, {Attr::keepdims, 0}}, &out), (Numbers{5, 4}));
    EXPECT_EQ(out.shape, (Shape{2}));
    EXPECT_EQ(run_op(Op::reduce_min, {x}, {{Attr::keepdims, 0}}, &out), (Numbers{-2}));
    EXPECT_EQ(out.shape, (Shape{}));
    expect_close(run_op(Op::reduce_mean, {x}), {11.0 / 6});
    EXPECT_EQ(run_op(Op::reduce_sum, {{{2, 0}, {}}}, {{Attr::axes, 1}}), (Numbers{0, 0}));
    EXPECT_TRUE(std::isnan(run_op(Op::reduce_mean, {{{0}, {}}})[0]));
    EXPECT_TRUE(run_op(Op::reduce_max, {{{0, 3}, {}}}, {{Attr::axes, 1}}).empty());
    EXPECT_EQ(run_op(Op::reduce_mean, {{{3}, {-1, -1, -3}, DType::i32}})[0], -1);
    EXPECT_EQ(run_op(Op::reduce_sum, {{{2}, {2147483647, 1}, DType::i32}})[0], -2147483648.0);
    EXPECT_TRUE(std::isnan(run_op(Op::reduce_max, {{{3}, {1, kNan, 2}}})[0]));
}

}  // namespace
}  // namespace backplane
