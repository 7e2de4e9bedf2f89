#include <algorithm>
#include <numeric>

#include "run_op.hpp"

using namespace harness;

class Moves : public PerLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, Moves, testing::ValuesIn(masks()));

namespace {

template <typename T>
std::vector<T> counted(int64_t n) {
    std::vector<T> out(static_cast<size_t>(n));
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(i * 7 + i / 256);
    return out;
}

int64_t flat(const Dims& dims, const Dims& at) {
    int64_t i = 0;
    for (size_t d = 0; d < dims.size(); ++d) i = i * dims[d] + at[d];
    return i;
}

template <typename Body>
void for_each(const Dims& dims, Body body) {
    Dims at(dims.size(), 0);
    const int64_t n = count(dims);
    for (int64_t i = 0; i < n; ++i) {
        int64_t rest = i;
        for (size_t d = dims.size(); d-- > 0; rest /= dims[d]) at[d] = rest % dims[d];
        body(at, static_cast<size_t>(i));
    }
}

template <typename T>
void expect_transpose(const Options& options, const Dims& dims, const Dims& perm, uint32_t dtype) {
    Dims out;
    for (const int64_t p : perm) out.push_back(dims[static_cast<size_t>(p)]);
    const auto x = counted<T>(count(dims));
    const auto got = run_op<T>(options, BP_OP_transpose, {operand(dims, x, dtype)}, out, {list(BP_ATTR_perm, perm)}, dtype);
    for_each(out, [&](const Dims& at, size_t i) {
        Dims from(at.size());
        for (size_t d = 0; d < at.size(); ++d) from[static_cast<size_t>(perm[d])] = at[d];
        ASSERT_EQ(got[i], x[static_cast<size_t>(flat(dims, from))]) << "element " << i << " of rank " << dims.size();
    });
}

}  // namespace

TEST_P(Moves, TransposeOfEveryElementSizeAndRank) {
    for (const Dims& dims : {Dims{37, 53}, Dims{64, 128}, Dims{1, 9}, Dims{200, 3}, Dims{3, 200}}) {
        expect_transpose<uint8_t>(options(), dims, {1, 0}, BP_U8);
        expect_transpose<uint16_t>(options(), dims, {1, 0}, BP_F16);
        expect_transpose<uint32_t>(options(), dims, {1, 0}, BP_F32);
        expect_transpose<int64_t>(options(), dims, {1, 0}, BP_I64);
    }
    expect_transpose<uint32_t>(options(), {2, 12, 25, 20}, {0, 2, 1, 3}, BP_F32);
    expect_transpose<uint32_t>(options(), {2, 12, 25, 20}, {0, 2, 3, 1}, BP_F32);
    expect_transpose<uint32_t>(options(), {3, 4, 5, 6}, {3, 2, 1, 0}, BP_F32);
    expect_transpose<uint16_t>(options(), {2, 3, 2, 3, 2, 3, 2, 2}, {7, 0, 6, 1, 5, 2, 4, 3}, BP_BF16);
    expect_transpose<uint32_t>(options(), {4, 0, 5}, {2, 1, 0}, BP_F32);
}

TEST_P(Moves, SliceWithStepsAndConcatUndoEachOther) {
    const Dims dims = {5, 8, 11};
    const auto x = counted<int64_t>(count(dims));
    auto half = [&](int64_t first) {
        return run_op<int64_t>(options(), BP_OP_slice, {operand(dims, x, BP_I64)}, {5, 4, 11},
                               {list(BP_ATTR_starts, {0, first, 0}), list(BP_ATTR_ends, {5, first + 4, 11})}, BP_I64);
    };
    EXPECT_EQ(run_op<int64_t>(options(), BP_OP_concat,
                              {operand<int64_t>({5, 4, 11}, half(0), BP_I64), operand<int64_t>({5, 4, 11}, half(4), BP_I64)},
                              dims, {integer(BP_ATTR_axis, 1)}, BP_I64),
              x);
    const auto stepped = run_op<int64_t>(
        options(), BP_OP_slice, {operand(dims, x, BP_I64)}, {2, 3, 4},
        {list(BP_ATTR_starts, {1, 2, 0}), list(BP_ATTR_ends, {5, 8, 11}), list(BP_ATTR_steps, {3, 2, 3})}, BP_I64);
    for_each({2, 3, 4}, [&](const Dims& at, size_t i) {
        EXPECT_EQ(stepped[i], x[static_cast<size_t>(flat(dims, {1 + 3 * at[0], 2 + 2 * at[1], 3 * at[2]}))]);
    });
}

TEST_P(Moves, PadInAllModes) {
    const Dims dims = {3, 4, 5};
    const auto x = counted<uint16_t>(count(dims));
    const Dims pads = {0, 2, 3, 1, 3, 2};
    const Dims out = {4, 9, 10};
    for (const int64_t mode : {BP_PAD_CONSTANT, BP_PAD_EDGE, BP_PAD_REFLECT}) {
        const auto got =
            run_op<uint16_t>(options(), BP_OP_pad, {operand(dims, x, BP_U16)}, out,
                             {list(BP_ATTR_pads, pads), integer(BP_ATTR_mode, mode), number(BP_ATTR_value, 9)}, BP_U16);
        for_each(out, [&](const Dims& at, size_t i) {
            Dims from(3);
            bool border = false;
            for (size_t d = 0; d < 3; ++d) {
                int64_t s = at[d] - pads[d];
                border = border || s < 0 || s >= dims[d];
                if (mode == BP_PAD_REFLECT) s = s < 0 ? -s : s >= dims[d] ? 2 * (dims[d] - 1) - s : s;
                from[d] = std::clamp<int64_t>(s, 0, dims[d] - 1);
            }
            const uint16_t want = border && mode == BP_PAD_CONSTANT ? 9 : x[static_cast<size_t>(flat(dims, from))];
            ASSERT_EQ(got[i], want) << "mode " << mode << " element " << i;
        });
    }
}

TEST_P(Moves, GatherCountsNegativeIndicesFromTheEndAndRefusesOthers) {
    const auto x = counted<float>(4 * 6 * 3);
    const std::vector<int32_t> indices = {5, -1, 0, -6};
    const auto got = run_op(options(), BP_OP_gather, {operand({4, 6, 3}, x), operand({2, 2}, indices, BP_I32)}, {4, 2, 2, 3},
                            {integer(BP_ATTR_axis, 1)});
    const int64_t at[] = {5, 5, 0, 0};
    for_each({4, 4, 3},
             [&](const Dims& d, size_t i) { EXPECT_EQ(got[i], x[static_cast<size_t>((d[0] * 6 + at[d[1]]) * 3 + d[2])]); });
    EXPECT_THROW(run_op(options(), BP_OP_gather, {operand({4}, counted<float>(4)), operand<int64_t>({1}, {4}, BP_I64)}, {1}),
                 std::runtime_error);
}

TEST_P(Moves, IndicesOutOfRangeNeitherReadNorWriteOutside) {
    const auto x = operand({4, 2}, counted<float>(8));
    const auto refused = [&](uint32_t op, const std::vector<Operand>& operands, const Dims& out) {
        EXPECT_THROW(run_op(options(), op, operands, out), std::runtime_error);
    };
    for (const int64_t index : {int64_t{4}, int64_t{-5}, int64_t{1} << 40, INT64_MIN, INT64_MAX}) {
        refused(BP_OP_gather_elements, {x, operand<int64_t>({1, 1}, {index}, BP_I64)}, {1, 1});
        refused(BP_OP_scatter_nd, {x, operand<int64_t>({1, 1}, {index}, BP_I64), operand({1, 2}, counted<float>(2))},
                {4, 2});
        // Nowhere on.
        EXPECT_EQ(run_op(options(), BP_OP_one_hot, {operand<int64_t>({1}, {index}, BP_I64), operand({2}, counted<float>(2))},
                         {1, 4}, {integer(BP_ATTR_depth, 4), integer(BP_ATTR_axis, 1)}),
                  std::vector<float>(4, counted<float>(2)[0]));
    }
}

TEST_P(Moves, DepthToSpaceInBothOrders) {
    const Dims dims = {2, 12, 3, 5};
    const auto x = counted<float>(count(dims));
    for (const int64_t mode : {BP_DTS_DCR, BP_DTS_CRD}) {
        const auto got = run_op(options(), BP_OP_depth_to_space, {operand(dims, x)}, {2, 3, 6, 10},
                                {integer(BP_ATTR_blocksize, 2), integer(BP_ATTR_mode, mode)});
        for_each({2, 3, 6, 10}, [&](const Dims& at, size_t i) {
            const int64_t r = at[2] % 2;
            const int64_t s = at[3] % 2;
            const int64_t c = mode == BP_DTS_DCR ? (r * 2 + s) * 3 + at[1] : at[1] * 4 + r * 2 + s;
            ASSERT_EQ(got[i], x[static_cast<size_t>(flat(dims, {at[0], c, at[2] / 2, at[3] / 2}))]);
        });
    }
}

TEST_P(Moves, ResizeInAllModes) {
    const Dims dims = {1, 3, 5, 7};
    const Floats x = random_floats(count(dims), 3);
    auto at = [](double i, double in, double out, int64_t c) {
        return c == 0 ? i * in / out : c == 1 ? (i + 0.5) * in / out - 0.5 : out > 1 ? i * (in - 1) / (out - 1) : 0.0;
    };
    for (const Dims& out : {Dims{1, 3, 10, 14}, Dims{1, 3, 3, 11}, Dims{1, 3, 1, 1}})
        for (const int64_t c : {0, 1, 2}) {
            const auto got = run_op(options(), BP_OP_resize, {operand(dims, x)}, out,
                                    {list(BP_ATTR_sizes, {out[2], out[3]}), integer(BP_ATTR_mode, BP_RESIZE_LINEAR),
                                     integer(BP_ATTR_coordinates, c)});
            for_each(out, [&](const Dims& d, size_t i) {
                const double h = std::clamp(at(d[2], 5, out[2], c), 0.0, 4.0);
                const double w = std::clamp(at(d[3], 7, out[3], c), 0.0, 6.0);
                auto pixel = [&](int64_t a, int64_t b) {
                    return static_cast<double>(
                        x[static_cast<size_t>(flat(dims, {d[0], d[1], std::min<int64_t>(a, 4), std::min<int64_t>(b, 6)}))]);
                };
                const auto y0 = static_cast<int64_t>(h);
                const auto x0 = static_cast<int64_t>(w);
                const double fy = h - static_cast<double>(y0);
                const double fx = w - static_cast<double>(x0);
                const double want = (1 - fy) * ((1 - fx) * pixel(y0, x0) + fx * pixel(y0, x0 + 1)) +
                                    fy * ((1 - fx) * pixel(y0 + 1, x0) + fx * pixel(y0 + 1, x0 + 1));
                ASSERT_NEAR(got[i], want, 1e-6);
            });
        }
    const auto twice = run_op(options(), BP_OP_resize, {operand(dims, x)}, {1, 3, 10, 14}, {list(BP_ATTR_sizes, {10, 14})});
    for_each({1, 3, 10, 14}, [&](const Dims& d, size_t i) {
        ASSERT_EQ(twice[i], x[static_cast<size_t>(flat(dims, {d[0], d[1], d[2] / 2, d[3] / 2}))]);
    });
}
