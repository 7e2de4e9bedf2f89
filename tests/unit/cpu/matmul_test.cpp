#include <gtest/gtest.h>

#include <cmath>

#include "harness.hpp"

using namespace harness;

namespace {

struct Case {
    int64_t batch, m, k, n;
    bool ta, tb;
    bool weight;
};

const std::vector<Case> cases = {
    {1, 1, 1, 1, false, false, true},     {1, 7, 65, 70, false, false, true},   {2, 13, 33, 17, true, false, false},
    {3, 6, 800, 64, false, true, true},   {1, 1, 1000, 130, false, true, true}, {1, 100, 20, 5, true, true, false},
    {1, 5, 384, 64, false, false, false}, {1, 5, 0, 64, false, false, true},
};

}  // namespace

class MatMul : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Levels, MatMul, testing::ValuesIn(masks()));

TEST_P(MatMul, AgreesWithFloat64AndFusesBiasAndActivation) {
    Device device({GetParam(), "2"});
    for (size_t c = 0; c < cases.size(); ++c) {
        const Case& t = cases[c];
        Graph g;
        const Floats a = random_floats(t.batch * t.m * t.k, 1);
        const Floats b = random_floats(t.k * t.n, 2);  // shared by the batches
        const Floats bias = random_floats(t.n, 3);
        const auto x = g.input(t.ta ? Dims{t.batch, t.k, t.m} : Dims{t.batch, t.m, t.k}, a);
        const Dims bd = t.tb ? Dims{t.n, t.k} : Dims{t.k, t.n};
        const auto w = t.weight ? g.weight(bd, b) : g.input(bd, b);
        const Dims od = {t.batch, t.m, t.n};
        const auto p =
            g.add(BP_OP_matmul, {x, w}, od, {integer(BP_ATTR_transpose_a, t.ta), integer(BP_ATTR_transpose_b, t.tb)});
        const auto y = g.add(BP_OP_relu, {g.add(BP_OP_add, {p, g.weight({t.n}, bias)}, od)}, od);
        g.output(y);
        Program program(device, g);
        program.run();
        const Floats got = program.read(y);
        for (int64_t i = 0; i < t.batch; ++i)
            for (int64_t r = 0; r < t.m; ++r)
                for (int64_t col = 0; col < t.n; ++col) {
                    double sum = bias[static_cast<size_t>(col)];
                    for (int64_t k = 0; k < t.k; ++k)
                        sum += double{a[static_cast<size_t>(i * t.m * t.k + (t.ta ? k * t.m + r : r * t.k + k))]} *
                               double{b[static_cast<size_t>(t.tb ? col * t.k + k : k * t.n + col)]};
                    ASSERT_NEAR(got[static_cast<size_t>((i * t.m + r) * t.n + col)], std::max(0.0, sum),
                                1e-5 * std::max<double>(10, std::sqrt(t.k)))
                        << "case " << c << " row " << r << " column " << col;
                }
    }
}

TEST_P(MatMul, DecodesQ8AndQ4BlocksOfTheRightHandSide) {
    Device device({GetParam(), "1"});
    for (const uint32_t dtype : {uint32_t{BP_Q8_0}, uint32_t{BP_Q4_0}}) {
        constexpr int64_t n = 3;
        constexpr int64_t k = 64;
        const size_t block = dtype == BP_Q8_0 ? 34 : 18;
        std::vector<std::byte> blocks(n * 2 * block);
        std::vector<double> plain;
        for (size_t b = 0; b < n * 2; ++b) {
            std::byte* at = blocks.data() + b * block;
            at[0] = std::byte{0};
            at[1] = std::byte{0x34};  // 0.25 in half precision
            for (size_t i = 0; i < block - 2; ++i) at[2 + i] = static_cast<std::byte>(37 * (b * 32 + i) + 11);
            for (size_t i = 0; i < 32; ++i) {
                const int q8 = static_cast<int8_t>(at[2 + i % (block - 2)]);
                const int pair = static_cast<int>(at[2 + i % 16]);
                const int q4 = (i < 16 ? pair & 15 : pair >> 4) - 8;
                plain.push_back(0.25 * (dtype == BP_Q8_0 ? q8 : q4));
            }
        }
        Graph g;
        const Floats a = random_floats(2 * k, 5);
        const auto y = g.add(BP_OP_matmul, {g.input({2, k}, a), g.bound_bytes(BP_ROLE_WEIGHT, {n, k}, dtype, blocks)},
                             {2, n}, {integer(BP_ATTR_transpose_b, 1)});
        g.output(y);
        Program program(device, g);
        program.run();
        const Floats got = program.read(y);
        for (size_t r = 0; r < 2; ++r)
            for (size_t c = 0; c < n; ++c) {
                double sum = 0;
                for (size_t i = 0; i < k; ++i) sum += double{a[r * k + i]} * plain[c * k + i];
                EXPECT_NEAR(got[r * n + c], sum, 1e-3) << dtype;
            }
    }
}
