// References and shape rules of the ops that repeat, count and pick single elements.
#include "backplane/ops.hpp"
#include "graphs.hpp"

namespace backplane {
namespace {

TEST(Expand, TakesTheLargerExtentOfEitherSide) {
    TensorInfo out;
    EXPECT_EQ(run_op(Op::expand, {{{2, 1}, {1, 2}}}, {{Attr::shape, List{2, 1, 3}}}, &out),
              (Numbers{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
    EXPECT_EQ(out.shape, (Shape{2, 2, 3})) << "a 1 in the shape leaves the extent of x";
    run_op(Op::expand, {{{2, 3, 1}, counting(6)}}, {{Attr::shape, List{4}}}, &out);
    EXPECT_EQ(out.shape, (Shape{2, 3, 4})) << "the shape may have fewer axes";
}

TEST(Tile, RepeatsTheWholeAlongEachAxis) {
    EXPECT_EQ(run_op(Op::tile, {{{2, 2}, {1, 2, 3, 4}}}, {{Attr::repeats, List{2, 2}}}),
              (Numbers{1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4}));
    EXPECT_TRUE(run_op(Op::tile, {{{2}, {1, 2}}}, {{Attr::repeats, List{0}}}).empty());
}

TEST(Range, CountsFromAStartAndWraps) {
    EXPECT_EQ(run_op(Op::range, {{{}, {1}}, {{}, {-0.5}}}, {{Attr::count, 4}}), (Numbers{1, 0.5, 0, -0.5}));
    EXPECT_EQ(run_op(Op::range, {{{}, {2147483647}, DType::i32}, {{}, {1}, DType::i32}}, {{Attr::count, 2}}),
              (Numbers{2147483647, -2147483648.0}));
}

TEST(CumSum, FromEitherEndWithOrWithoutTheElement) {
    const Given x{{2, 3}, {1, 2, 3, 4, 5, 6}};
    EXPECT_EQ(run_op(Op::cum_sum, {x}), (Numbers{1, 2, 3, 5, 7, 9}));
    EXPECT_EQ(run_op(Op::cum_sum, {x}, {{Attr::axis, 1}}), (Numbers{1, 3, 6, 4, 9, 15}));
    EXPECT_EQ(run_op(Op::cum_sum, {x}, {{Attr::axis, -1}, {Attr::exclusive, 1}}), (Numbers{0, 1, 3, 0, 4, 9}));
    EXPECT_EQ(run_op(Op::cum_sum, {x}, {{Attr::axis, 1}, {Attr::reverse, 1}}), (Numbers{6, 5, 3, 15, 11, 6}));
    EXPECT_EQ(run_op(Op::cum_sum, {x}, {{Attr::axis, 1}, {Attr::exclusive, 1}, {Attr::reverse, 1}}),
              (Numbers{5, 3, 0, 11, 6, 0}));
    EXPECT_EQ(run_op(Op::cum_sum, {{{2}, {2147483647, 1}, DType::i32}}), (Numbers{2147483647, -2147483648.0}));
}

TEST(GatherElements, HasAnIndexForEachElement) {
    const Given x{{3, 2}, {1, 2, 3, 4, 5, 6}};
    EXPECT_EQ(run_op(Op::gather_elements, {x, {{2, 2}, {0, -1, 2, 1}, DType::i64}}), (Numbers{1, 6, 5, 4}));
    EXPECT_EQ(run_op(Op::gather_elements, {x, {{1, 3}, {1, 0, -2}, DType::i32}}, {{Attr::axis, 1}}), (Numbers{2, 1, 1}));
    EXPECT_EQ(error_of([&] {
                  run_op(Op::gather_elements, {x, {{1, 1}, {3}, DType::i64}});
              }),
              "GatherElements: index 3 lies outside the 3 elements of its axis, x [3, 2]");
}

TEST(OneHot, IsOnNowhereForAnIndexOutOfRange) {
    TensorInfo out;
    EXPECT_EQ(run_op(Op::one_hot, {{{4}, {0, -1, 3, -4}, DType::i64}, {{2}, {5, 9}}}, {{Attr::depth, 3}}, &out),
              (Numbers{9, 5, 5, 5, 5, 9, 5, 5, 5, 5, 5, 5}));
    EXPECT_EQ(out.shape, (Shape{4, 3}));
    run_op(Op::one_hot, {{{4}, {0, 0, 0, 0}, DType::i64}, {{2}, {5, 9}}}, {{Attr::depth, 3}, {Attr::axis, 0}}, &out);
    EXPECT_EQ(out.shape, (Shape{3, 4}));
}

TEST(Pick, RefusalsNameShapes) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {2, 3});
    const TensorId i = g.input("i", DType::i64, {4, 4});
    const auto said = [](auto&& body) { return error_of(body); };
    EXPECT_EQ(said([&] { ops::expand(g, x, {.shape = {5, 3}}); }), "Expand: x [2, 3] and [5, 3] do not broadcast");
    EXPECT_EQ(said([&] {
                  ops::tile(g, x, {.repeats = {2, 2, 2}});
              }),
              "Tile: attribute repeats has 3 numbers, needs 2 for x [2, 3]");
    EXPECT_EQ(said([&] { ops::range(g, x, x, {.count = 3}); }), "Range: start [2, 3] must have rank 0");
    EXPECT_EQ(
        said([&] { ops::gather_elements(g, x, i, {.axis = 0}); }),
        "GatherElements: indices [4, 4] does not fit x [2, 3]: it has the same rank, and is no longer but along axis 0");
    EXPECT_EQ(said([&] { ops::one_hot(g, i, x, {.depth = 3}); }), "OneHot: values [2, 3] must be [2]: off and on");
    EXPECT_EQ(said([&] { ops::one_hot(g, i, g.input("v", DType::f32, {2}), {.depth = 3, .axis = 3}); }),
              "OneHot: axis 3 lies outside the result of indices [4, 4], which has an axis more");
    EXPECT_EQ(said([&] { ops::cum_sum(g, x, {.axis = 2}); }), "CumSum: axis 2 lies outside x [2, 3]");
    EXPECT_EQ(said([&] {
                  ops::expand(g, x, {.shape = {1 << 30, 1 << 30, 2, 3}});
              }),
              "Expand: the shape is too large, x [2, 3]");
}

}  // namespace
TEST(GridSample, BringsPlacesWithinOrPutsZerosBesideTheMap) {
    // The middle, a corner, half an element beside the map, and NaN for -1.
    const Given x{{1, 1, 2, 2}, {1, 2, 3, 4}};
    const Given grid{{1, 1, 4, 2}, {0, 0, -1, -1, 2, 0, kNan, 1}};
    const auto sampled = [&](int padding, int corners, int mode = BP_SAMPLE_LINEAR) {
        return run_op(Op::grid_sample, {x, grid},
                      {{Attr::padding_mode, padding}, {Attr::align_corners, corners}, {Attr::mode, mode}});
    };
    EXPECT_EQ(sampled(BP_SAMPLE_ZEROS, 1), (Numbers{2.5, 1, 1.5, 3}));
    EXPECT_EQ(sampled(BP_SAMPLE_BORDER, 1), (Numbers{2.5, 1, 3, 3}));
    EXPECT_EQ(sampled(BP_SAMPLE_REFLECTION, 1), (Numbers{2.5, 1, 2.5, 3}));
    EXPECT_EQ(sampled(BP_SAMPLE_ZEROS, 0), (Numbers{2.5, 0.25, 0, 0.75}));
    EXPECT_EQ(sampled(BP_SAMPLE_REFLECTION, 0), (Numbers{2.5, 1, 2.5, 3}));
    EXPECT_EQ(sampled(BP_SAMPLE_ZEROS, 1, BP_SAMPLE_NEAREST), (Numbers{1, 1, 0, 3}));
}

TEST(GridSample, CubicBringsEachOfItsElementsWithin) {
    // One axis, a quarter behind the first element: weights -0.1055, 0.8789, 0.2617, -0.0352 of elements -1 to 2. Then half an element before it.
    const Given x{{1, 1, 4}, {8, 16, 64, 32}};
    const auto sampled = [&](int padding, int corners, double at) {
        return run_op(Op::grid_sample, {x, {{1, 1, 1}, {at}}},
                      {{Attr::padding_mode, padding}, {Attr::align_corners, corners}, {Attr::mode, BP_SAMPLE_CUBIC}})[0];
    };
    const double w[] = {-0.10546875, 0.87890625, 0.26171875, -0.03515625};
    const double inside = 8 * w[1] + 16 * w[2] + 64 * w[3];
    EXPECT_NEAR(sampled(BP_SAMPLE_ZEROS, 0, -0.625), inside, 1e-12);
    EXPECT_NEAR(sampled(BP_SAMPLE_BORDER, 0, -0.625), inside + 8 * w[0], 1e-12);
    EXPECT_NEAR(sampled(BP_SAMPLE_REFLECTION, 0, -0.625), inside + 8 * w[0], 1e-12) << "about the edge of the first element";
    EXPECT_NEAR(sampled(BP_SAMPLE_REFLECTION, 1, -1 + 0.5 / 3), inside + 16 * w[0], 1e-12) << "about its middle";
    const double half[] = {-0.09375, 0.59375};
    EXPECT_NEAR(sampled(BP_SAMPLE_ZEROS, 0, -1), 8 * half[1] + 16 * half[0], 1e-12);
    EXPECT_NEAR(sampled(BP_SAMPLE_BORDER, 0, -1), 8 * (half[0] + 2 * half[1]) + 16 * half[0], 1e-12);
    for (const double away : {-3.0, -1e9, 3.0, 1e9}) {
        EXPECT_EQ(sampled(BP_SAMPLE_ZEROS, 0, away), 0);
        EXPECT_EQ(sampled(BP_SAMPLE_BORDER, 0, away), away < 0 ? 8 : 32);
    }
}

TEST(GridSample, RefusesGridsThatNameOtherAxes) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {1, 3, 4, 5});
    for (const Shape& shape : {Shape{1, 2, 2, 3}, Shape{2, 2, 2, 2}, Shape{1, 2, 2}})
        EXPECT_NE(error_of([&] { g.add(Op::grid_sample, {x, g.input("", DType::f32, shape)}); }), "");
    const TensorId none = g.input("none", DType::f32, {1, 3, 0, 5});
    const TensorId grid = g.input("grid", DType::f32, {1, 2, 2, 2});
    EXPECT_NE(error_of([&] { g.add(Op::grid_sample, {none, grid}); }).find("is empty"), std::string::npos);
}

}  // namespace backplane
