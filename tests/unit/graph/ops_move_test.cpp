// References of the ops that move data, against values worked out by hand.
#include <cmath>
#include <limits>

#include "graphs.hpp"

namespace backplane {
namespace {

TEST(Concat, JoinsAlongAnAxisEvenWhenAPartIsEmpty) {
    EXPECT_EQ(run_op(Op::concat, {{{2, 1}, {1, 2}}, {{2, 0}, {}}, {{2, 2}, {3, 4, 5, 6}}}, {{Attr::axis, -1}}),
              (Numbers{1, 3, 4, 2, 5, 6}));
    EXPECT_EQ(run_op(Op::concat, {{{1, 2}, {1, 2}, DType::i8}, {{2, 2}, {3, 4, 5, 6}, DType::i8}}, {{Attr::axis, 0}}),
              counting(6, 1));
}

TEST(Slice, TakesEveryNthBetweenItsBounds) {
    EXPECT_EQ(run_op(Op::slice, {{{7}, counting(7)}}, {{Attr::starts, 1}, {Attr::ends, 7}, {Attr::steps, 3}}),
              (Numbers{1, 4}));
    EXPECT_EQ(run_op(Op::slice, {{{3, 3}, counting(9)}}, {{Attr::starts, List{-2, 0}}, {Attr::ends, List{INT64_MAX, -1}}}),
              (Numbers{3, 4, 6, 7}));
    EXPECT_TRUE(run_op(Op::slice, {{{3}, counting(3)}}, {{Attr::starts, 2}, {Attr::ends, 1}}).empty());
}

TEST(Pad, ReflectLeavesTheEdgeOut) {
    const std::vector<Attribute> pads{{Attr::pads, List{3, 2}}, {Attr::mode, BP_PAD_REFLECT}};
    EXPECT_EQ(run_op(Op::pad, {{{4}, counting(4)}}, pads), (Numbers{3, 2, 1, 0, 1, 2, 3, 2, 1}));
}

TEST(Pad, EdgeRepeatsItAndConstantFillsWithTheValue) {
    EXPECT_EQ(run_op(Op::pad, {{{1, 2}, {1, 2}}}, {{Attr::pads, List{1, 1, 0, 2}}, {Attr::mode, BP_PAD_EDGE}}),
              (Numbers{1, 1, 2, 2, 2, 1, 1, 2, 2, 2}));
    EXPECT_EQ(run_op(Op::pad, {{{1, 2}, {1, 2}, DType::i16}}, {{Attr::pads, List{0, 1, 1, 0}}, {Attr::value, 9.0}}),
              (Numbers{9, 1, 2, 9, 9, 9}));
    EXPECT_EQ(run_op(Op::pad, {{{0}, {}}}, {{Attr::pads, List{1, 1}}, {Attr::value, -1.0}}), (Numbers{-1, -1}));
}

TEST(Reshape, KeepsTheOrderOfElements) {
    TensorInfo out;
    EXPECT_EQ(run_op(Op::reshape, {{{2, 3}, counting(6)}}, {{Attr::shape, List{3, -1}}}, &out), counting(6));
    EXPECT_EQ(out.shape, (Shape{3, 2}));
    EXPECT_TRUE(run_op(Op::reshape, {{{0, 3}, {}}}, {{Attr::shape, List{5, 0}}}).empty());
}

TEST(Transpose, AxisOfTheResultIsAxisPermOfTheOperand) {
    TensorInfo out;
    EXPECT_EQ(run_op(Op::transpose, {{{2, 3, 1}, counting(6)}}, {{Attr::perm, List{1, 2, 0}}}, &out),
              (Numbers{0, 3, 1, 4, 2, 5}));
    EXPECT_EQ(out.shape, (Shape{3, 1, 2}));
    EXPECT_EQ(run_op(Op::transpose, {{{2, 2}, counting(4), DType::u8}}), (Numbers{0, 2, 1, 3}));
    EXPECT_EQ(run_op(Op::transpose, {{{}, {5}}}), (Numbers{5}));
}

TEST(Gather, ANegativeIndexCountsFromTheEnd) {
    TensorInfo out;
    EXPECT_EQ(run_op(Op::gather, {{{2, 3}, counting(6)}, {{2, 1}, {-1, 0}, DType::i64}}, {{Attr::axis, 1}}, &out),
              (Numbers{2, 0, 5, 3}));
    EXPECT_EQ(out.shape, (Shape{2, 2, 1}));
    EXPECT_EQ(run_op(Op::gather, {{{3, 2}, counting(6)}, {{}, {-3}, DType::i32}}), (Numbers{0, 1}));
}

TEST(Gather, AnIndexOutsideTheAxisIsAnError) {
    for (const double index : {3.0, -4.0, 9e18})
        EXPECT_NE(error_of([&] {
                      run_op(Op::gather, {{{3}, counting(3)}, {{1}, {index}, DType::i64}});
                  }).find("Gather"),
                  std::string::npos);
}

TEST(Cast, TruncatesAndSaturatesAndDecodesBlocks) {
    const double nan = std::nan("");
    EXPECT_EQ(run_op(Op::cast, {{{5}, {-1.9, 1.9, 300, -300, nan}}}, {{Attr::to, BP_I8}}), (Numbers{-1, 1, 127, -128, 0}));
    EXPECT_EQ(run_op(Op::cast, {{{2}, {1, 65504}, DType::i32}}, {{Attr::to, BP_F16}}), (Numbers{1, 65504}));
    EXPECT_EQ(run_op(Op::cast, {{{2}, {2049, 2051}}}, {{Attr::to, BP_F16}}), (Numbers{2048, 2052})) << "ties to even";
    EXPECT_EQ(run_op(Op::cast, {{{3}, {0, 0.5, -2}}}, {{Attr::to, BP_BOOL}}), (Numbers{0, 1, 1}));
    Numbers wide(32);
    for (size_t i = 0; i < 32; ++i) wide[i] = static_cast<double>(i) * 8 - 127;
    EXPECT_EQ(run_op(Op::cast, {{{32}, wide, DType::q8_0}}, {{Attr::to, BP_F32}}), wide) << "a scale of 1 loses nothing";
}

TEST(DepthToSpace, ColumnRowAndDepthOrderDiffer) {
    // 8 channels of one pixel: two channels of 2 x 2.
    const Given x{{1, 8, 1, 1}, counting(8)};
    EXPECT_EQ(run_op(Op::depth_to_space, {x}, {{Attr::blocksize, 2}}), (Numbers{0, 2, 4, 6, 1, 3, 5, 7}));
    EXPECT_EQ(run_op(Op::depth_to_space, {x}, {{Attr::blocksize, 2}, {Attr::mode, BP_DTS_CRD}}), counting(8));
    TensorInfo out;
    EXPECT_EQ(run_op(Op::depth_to_space, {{{1, 4, 1, 2}, counting(8)}}, {{Attr::blocksize, 2}}, &out),
              (Numbers{0, 2, 1, 3, 4, 6, 5, 7}));
    EXPECT_EQ(out.shape, (Shape{1, 1, 2, 4}));
}

Numbers resized(const Numbers& row, int64_t width, int mode, int coordinates) {
    return run_op(Op::resize, {{{1, 1, 1, static_cast<int64_t>(row.size())}, row}},
                  {{Attr::sizes, List{1, width}}, {Attr::mode, mode}, {Attr::coordinates, coordinates}});
}

TEST(Resize, NearestInAllCoordinates) {
    const Numbers row{0, 1, 2, 3};
    EXPECT_EQ(resized(row, 8, BP_RESIZE_NEAREST, BP_COORDINATES_ASYMMETRIC), (Numbers{0, 0, 1, 1, 2, 2, 3, 3}));
    EXPECT_EQ(resized(row, 3, BP_RESIZE_NEAREST, BP_COORDINATES_ASYMMETRIC), (Numbers{0, 1, 2}));
    EXPECT_EQ(resized(row, 3, BP_RESIZE_NEAREST, BP_COORDINATES_HALF_PIXEL), (Numbers{0, 2, 3}));
    EXPECT_EQ(resized(row, 3, BP_RESIZE_NEAREST, BP_COORDINATES_ALIGN_CORNERS), (Numbers{0, 2, 3}));
    EXPECT_EQ(resized(row, 1, BP_RESIZE_NEAREST, BP_COORDINATES_ALIGN_CORNERS), (Numbers{0}));
    EXPECT_EQ(resized(counting(49), 7, BP_RESIZE_NEAREST, BP_COORDINATES_ASYMMETRIC), (Numbers{0, 7, 14, 21, 28, 35, 42}));
}

TEST(Resize, LinearInAllCoordinates) {
    const Numbers row{0, 4};
    expect_close(resized(row, 4, BP_RESIZE_LINEAR, BP_COORDINATES_ASYMMETRIC), {0, 2, 4, 4});
    expect_close(resized(row, 4, BP_RESIZE_LINEAR, BP_COORDINATES_HALF_PIXEL), {0, 1, 3, 4});
    expect_close(resized(row, 4, BP_RESIZE_LINEAR, BP_COORDINATES_ALIGN_CORNERS), {0, 4.0 / 3, 8.0 / 3, 4});
    EXPECT_EQ(resized({7}, 3, BP_RESIZE_LINEAR, BP_COORDINATES_HALF_PIXEL), (Numbers{7, 7, 7}));
}

TEST(Resize, CubicOvershootsAndTheEdgeGoesOnOrDoesNotCount) {
    const auto cubic = [](const std::vector<Attribute>& more) {
        std::vector<Attribute> how = {{Attr::sizes, List{8}}, {Attr::mode, BP_RESIZE_CUBIC}};
        how.insert(how.end(), more.begin(), more.end());
        return run_op(Op::resize, {{{1, 1, 4}, {1, 2, 3, 4}}}, how);
    };
    // Of ONNX's vector test_resize_upsample_scales_cubic, along one axis.
    const Attribute half_pixel{Attr::coordinates, BP_COORDINATES_HALF_PIXEL};
    EXPECT_EQ(cubic({half_pixel}),
              (Numbers{0.89453125, 1.19140625, 1.66796875, 2.296875, 2.703125, 3.33203125, 3.80859375, 4.10546875}));
    // Of the four around -0.25 two are there, which share the weight; between elements a = -0.5 leaves a line as it is.
    const std::vector<double> within = cubic({half_pixel, {Attr::exclude_outside, 1}, {Attr::cubic_coeff_a, -0.5}});
    EXPECT_NEAR(within[0], (0.8671875 * 1 - 0.0703125 * 2) / (0.8671875 - 0.0703125), 1e-6);
    EXPECT_NEAR(within[3], 2.25, 1e-6);
}

TEST(Resize, HalfPixelOfPyTorchIsTheFirstElementWhereOneIsLeft) {
    for (const int mode : {BP_RESIZE_NEAREST, BP_RESIZE_LINEAR, BP_RESIZE_CUBIC}) {
        const auto one = [&](int coordinates) {
            return run_op(Op::resize, {{{1, 1, 5}, {7, 2, 3, 4, 5}}},
                          {{Attr::sizes, List{1}}, {Attr::mode, mode}, {Attr::coordinates, coordinates}});
        };
        EXPECT_EQ(one(BP_COORDINATES_PYTORCH_HALF_PIXEL), (Numbers{7}));
        EXPECT_EQ(one(BP_COORDINATES_HALF_PIXEL), (Numbers{3}));
    }
}

TEST(Resize, LinearWorksOnBothAxesAndNearestOnIntegers) {
    expect_close(
        run_op(
            Op::resize, {{{1, 1, 2, 2}, {0, 1, 2, 3}}},
            {{Attr::sizes, List{3, 3}}, {Attr::mode, BP_RESIZE_LINEAR}, {Attr::coordinates, BP_COORDINATES_ALIGN_CORNERS}}),
        {0, 0.5, 1, 1, 1.5, 2, 2, 2.5, 3});
    EXPECT_EQ(run_op(Op::resize, {{{1, 2, 1, 1}, {5, 6}, DType::u8}}, {{Attr::sizes, List{2, 1}}}), (Numbers{5, 5, 6, 6}));
    error_of([] {
        run_op(Op::resize, {{{1, 1, 1, 1}, {5}, DType::u8}}, {{Attr::sizes, List{2, 1}}, {Attr::mode, BP_RESIZE_LINEAR}});
    });
}

}  // namespace
}  // namespace backplane
