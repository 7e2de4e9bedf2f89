// References and shape rules of the ops that pick by order, pool, and put slices where indices say.
#include <cmath>

#include "backplane/ops.hpp"
#include "graphs.hpp"

namespace backplane {
namespace {

// Both results of a TopK of a row.
std::pair<Numbers, Numbers> top(const Numbers& x, int k, bool largest = true) {
    Graph g;
    const Shape shape{static_cast<int64_t>(x.size())};
    const TensorId in = g.constant("", DType::f32, shape, graph::encode(x, DType::f32));
    const auto both = ops::top_k(g, in, {.k = k, .largest = largest});
    g.output(both[0], "values");
    g.output(both[1], "indices");
    std::vector<std::byte> values(bytes(DType::f32, {k}));
    std::vector<std::byte> indices(bytes(DType::i64, {k}));
    const graph::TensorRoom rooms[] = {{both[0], values}, {both[1], indices}};
    graph::evaluate(g, {}, rooms);
    return {graph::decode(values, DType::f32), graph::decode(indices, DType::i64)};
}

TEST(Arg, TakesTheFirstOfEqualOnesOrTheLast) {
    const Given x{{2, 4}, {1, 3, 3, 2, -0.0, 5, 0.0, 0.0}};
    TensorInfo out;
    EXPECT_EQ(run_op(Op::arg_max, {x}, {{Attr::axis, 1}}, &out), (Numbers{1, 1}));
    EXPECT_EQ(out.shape, (Shape{2, 1}));
    EXPECT_EQ(out.dtype, DType::i64);
    EXPECT_EQ(run_op(Op::arg_max, {x}, {{Attr::axis, 1}, {Attr::select_last_index, 1}}), (Numbers{2, 1}));
    EXPECT_EQ(run_op(Op::arg_min, {x}, {{Attr::axis, 1}, {Attr::select_last_index, 1}}), (Numbers{0, 3}))
        << "zeros are equal";
    EXPECT_EQ(run_op(Op::arg_max, {x}, {{Attr::axis, 0}, {Attr::keepdims, 0}}, &out), (Numbers{0, 1, 0, 0}));
    EXPECT_EQ(out.shape, (Shape{4}));
    EXPECT_EQ(run_op(Op::arg_min, {{{3}, {1, kNan, -kInf}}}), (Numbers{1})) << "NaN comes before all numbers";
}

TEST(TopK, IsSortedAndKeepsTheOrderOfEqualOnes) {
    EXPECT_EQ(top({2, 5, 1, 5, 3}, 3), (std::pair{Numbers{5, 5, 3}, Numbers{1, 3, 4}}));
    EXPECT_EQ(top({2, 5, 1, 5, 1}, 3, false), (std::pair{Numbers{1, 1, 2}, Numbers{2, 4, 0}}));
    EXPECT_EQ(top({kInf, 1, kNan}, 2).second, (Numbers{2, 0}));
}

TEST(MaxPool, SeesNoPaddingAndEveryNaN) {
    EXPECT_EQ(run_op(Op::max_pool, {{{1, 1, 4}, {-5, -3, -4, -9}}},
                     {{Attr::kernel_shape, List{2}}, {Attr::pads, List{1, 1}}, {Attr::strides, List{2}}}),
              (Numbers{-5, -3, -9}));
    EXPECT_TRUE(std::isnan(run_op(Op::max_pool, {{{1, 1, 2}, {kNan, kInf}}}, {{Attr::kernel_shape, List{2}}})[0]));
    EXPECT_EQ(run_op(Op::max_pool, {{{1, 1, 5}, counting(5)}}, {{Attr::kernel_shape, List{2}}, {Attr::dilations, List{3}}}),
              (Numbers{3, 4}));
}

TEST(MaxPoolIndices, CountsAllElementsAndTakesTheFirstOfEqualOnes) {
    const Given x{{2, 1, 2, 3}, {1, 5, 2, 5, 0, 3, 7, 7, 7, 7, kNan, kNan}};
    const std::vector<Attribute> how{{Attr::kernel_shape, List{2, 2}}};
    EXPECT_EQ(run_op(Op::max_pool_indices, {x}, how), (Numbers{1, 1, 10, 10}));
    std::vector<Attribute> first = how;
    first.push_back({Attr::storage_order, 1});
    EXPECT_EQ(run_op(Op::max_pool_indices, {x}, first), (Numbers{2, 2, 9, 9}))
        << "within a map, rows are the innermost axis";
    EXPECT_EQ(run_op(Op::max_pool_indices, {{{1, 1, 2}, {-kInf, -kInf}}},
                     {{Attr::kernel_shape, List{2}}, {Attr::pads, List{2, 0}}, {Attr::strides, List{2}}}),
              (Numbers{-1, 0}))
        << "nothing but padding, and nothing but -infinity";
}

TEST(AveragePool, CountsPaddingOnlyWhereAskedAndNothingBehindIt) {
    const Given x{{1, 1, 4}, {1, 2, 3, 4}};
    std::vector<Attribute> how{{Attr::kernel_shape, List{3}}, {Attr::pads, List{1, 1}}, {Attr::strides, List{2}}};
    EXPECT_EQ(run_op(Op::average_pool, {x}, how), (Numbers{1.5, 3}));
    how.push_back({Attr::count_include_pad, 1});
    EXPECT_EQ(run_op(Op::average_pool, {x}, how), (Numbers{1, 3}));
    how.push_back({Attr::ceil_mode, 1});
    EXPECT_EQ(run_op(Op::average_pool, {x}, how), (Numbers{1, 3, 2})) << "4 and one of padding";
}

TEST(Pool, ALastWindowDoesNotBeginInThePaddingBehind) {
    Graph g;
    const auto windows = [&](int64_t extent, int64_t kernel, int64_t stride, int64_t pad, bool ceil) {
        const TensorId x = g.input("x" + std::to_string(g.tensors().size()), DType::f32, {1, 1, extent});
        return g[ops::max_pool(
                     g, x, {.kernel_shape = ops::List{kernel}, .strides = {stride}, .pads = {pad, pad}, .ceil_mode = ceil})]
            .shape[2];
    };
    EXPECT_EQ(windows(6, 3, 2, 0, false), 2);
    EXPECT_EQ(windows(6, 3, 2, 0, true), 3);
    EXPECT_EQ(windows(5, 3, 2, 0, true), 2) << "nothing is left over";
    EXPECT_EQ(windows(4, 2, 3, 1, true), 2) << "the third would begin behind the map";
}

TEST(GlobalAveragePool, IsTheMeanOfEachMap) {
    TensorInfo out;
    EXPECT_EQ(run_op(Op::global_average_pool, {{{1, 2, 3}, {1, 2, 3, 5, 6, 10}}}, {}, &out), (Numbers{2, 7}));
    EXPECT_EQ(out.shape, (Shape{1, 2, 1}));
}

TEST(InstanceNorm, NormalisesEachChannelForItself) {
    expect_close(
        run_op(Op::instance_norm, {{{1, 2, 2}, {1, 3, 10, 30}}, {{2}, {1, 2}}, {{2}, {0, 5}}}, {{Attr::epsilon, 0.0}}),
        {-1, 1, 3, 7});
}

TEST(SpaceToDepth, IsDepthToSpaceBackwards) {
    const Given x{{1, 2, 2, 4}, counting(16)};
    TensorInfo out;
    const Numbers deep = run_op(Op::space_to_depth, {x}, {{Attr::blocksize, 2}}, &out);
    EXPECT_EQ(out.shape, (Shape{1, 8, 1, 2}));
    EXPECT_EQ(deep, (Numbers{0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15}));
    EXPECT_EQ(run_op(Op::depth_to_space, {{{1, 8, 1, 2}, deep}}, {{Attr::blocksize, 2}}), counting(16));
}

TEST(ScatterND, PutsSlicesWhereIndicesSay) {
    const Given data{{3, 2}, {1, 2, 3, 4, 5, 6}};
    EXPECT_EQ(run_op(Op::scatter_nd, {data, {{2, 1}, {-1, 0}, DType::i64}, {{2, 2}, {7, 8, 9, 10}}}),
              (Numbers{9, 10, 3, 4, 7, 8}));
    EXPECT_EQ(run_op(Op::scatter_nd, {data, {{1, 2}, {1, -1}, DType::i32}, {{1}, {0}}}), (Numbers{1, 2, 3, 0, 5, 6}));
    EXPECT_EQ(error_of([&] {
                  run_op(Op::scatter_nd, {data, {{1, 1}, {3}, DType::i64}, {{1, 2}, {0, 0}}});
              }),
              "ScatterND: index 3 lies outside axis 0 of data [3, 2]");
}

TEST(ScatterND, AReductionCountsAllUpdatesOfAPlace) {
    const Given data{{4}, {1, 2, 3, 4}}, at{{4, 1}, {1, 3, -3, 1}, DType::i64};
    const auto reduced = [&](int how, const Numbers& updates) {
        return run_op(Op::scatter_nd, {data, at, {{4}, updates}}, {{Attr::reduction, how}});
    };
    EXPECT_EQ(reduced(BP_REDUCTION_ADD, {5, 6, 7, 8}), (Numbers{1, 22, 3, 10}));
    EXPECT_EQ(reduced(BP_REDUCTION_MUL, {5, 6, 7, 8}), (Numbers{1, 560, 3, 24}));
    EXPECT_EQ(reduced(BP_REDUCTION_MAX, {5, 3, -7, 8}), (Numbers{1, 8, 3, 4}));
    EXPECT_EQ(reduced(BP_REDUCTION_MIN, {5, 3, -7, 8}), (Numbers{1, -7, 3, 3}));
    EXPECT_TRUE(std::isnan(reduced(BP_REDUCTION_MAX, {5, 3, kNan, 8})[1]));
    EXPECT_TRUE(std::isnan(reduced(BP_REDUCTION_MIN, {5, 3, kNan, 8})[1])) << "whatever comes after it";
    EXPECT_EQ(run_op(Op::scatter_nd, {{{1}, {2147483647}, DType::i32}, {{1, 1}, {0}, DType::i64}, {{1}, {1}, DType::i32}},
                     {{Attr::reduction, BP_REDUCTION_ADD}}),
              Numbers{-2147483648.0});
    Graph g;
    const TensorId bytes = g.input("bytes", DType::u8, {4});
    EXPECT_NE(
        error_of([&] {
            g.add(Op::scatter_nd, {bytes, g.input("i", DType::i64, {4, 1}), bytes}, {{Attr::reduction, BP_REDUCTION_ADD}});
        }).find("reduces f32, f16, bf16, f64, i32 or i64, not "),
        std::string::npos);
}

TEST(Pool, RefusalsNameShapes) {
    Graph g;
    const TensorId x = g.input("x", DType::f32, {1, 3, 5, 4});
    const TensorId flat = g.input("flat", DType::f32, {2, 3});
    const TensorId i = g.input("i", DType::i64, {4, 3});
    const auto said = [](auto&& body) { return error_of(body); };
    EXPECT_EQ(said([&] { ops::max_pool(g, flat, {.kernel_shape = {2, 2}}); }), "MaxPool: x [2, 3] must have rank 3, 4 or 5");
    EXPECT_EQ(said([&] {
                  ops::max_pool(g, x, {.kernel_shape = {2, 2, 2}});
              }),
              "MaxPool: attribute kernel_shape has 3 numbers, needs 2 for x [1, 3, 5, 4]");
    EXPECT_EQ(said([&] {
                  ops::average_pool(g, x, {.kernel_shape = {2, 6}});
              }),
              "AveragePool: a window of [2, 6] reaches over 6 of the 4 padded elements of axis 3, x [1, 3, 5, 4]");
    EXPECT_EQ(said([&] {
                  g.add(Op::max_pool, {x}, {{Attr::kernel_shape, List{2, 2}}, {Attr::count_include_pad, 1}});
              }),
              "MaxPool: takes no attribute count_include_pad; it takes kernel_shape, strides, pads, dilations, ceil_mode");
    EXPECT_EQ(said([&] { ops::global_average_pool(g, flat); }),
              "GlobalAveragePool: x [2, 3] must have a batch, a channel and a spatial axis");
    EXPECT_EQ(said([&] { ops::space_to_depth(g, x, {.blocksize = 2}); }),
              "SpaceToDepth: x [1, 3, 5, 4] has 5 rows and 4 columns, no multiples of blocksize 2");
    EXPECT_EQ(said([&] { ops::top_k(g, x, {.k = 5}); }), "TopK: has no 5 elements to pick along axis 3 of x [1, 3, 5, 4]");
    EXPECT_EQ(said([&] {
                  ops::arg_max(g, g.input("none", DType::f32, {2, 0}), {.axis = 1});
              }),
              "ArgMax: an empty axis has no result, x [2, 0] along 1");
    EXPECT_EQ(said([&] { ops::scatter_nd(g, flat, i, flat); }),
              "ScatterND: indices [4, 3] must name axes of data [2, 3] along its last axis, 2 at most");
    EXPECT_EQ(said([&] { ops::scatter_nd(g, x, i, flat); }),
              "ScatterND: updates [2, 3] must be [4, 4] for data [1, 3, 5, 4] and indices [4, 3]");
    EXPECT_EQ(said([&] { ops::instance_norm(g, x, flat, flat); }),
              "InstanceNorm: scale [2, 3] must be [3] for x [1, 3, 5, 4]");
}

}  // namespace
}  // namespace backplane
