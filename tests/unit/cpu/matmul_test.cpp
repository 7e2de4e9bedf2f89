#include <gtest/gtest.h>

#include <cmath>

#include "backplane/ops/blocks.hpp"
#include "backplane/sdk.hpp"
#include "harness.hpp"

using namespace harness;

namespace {

struct Product {
    int64_t batch, m, k, n;
    bool ta, tb;
    bool weight;
};

const std::vector<Product> products = {
    {1, 1, 1, 1, false, false, true},     {1, 7, 65, 70, false, false, true},   {2, 13, 33, 17, true, false, false},
    {3, 6, 800, 64, false, true, true},   {1, 1, 1000, 130, false, true, true}, {1, 100, 20, 5, true, true, false},
    {1, 5, 384, 64, false, false, false}, {1, 5, 0, 64, false, false, true},
};

}  // namespace

class MatMul : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Levels, MatMul, testing::ValuesIn(masks()));

TEST_P(MatMul, AgreesWithFloat64AndFusesBiasAndActivation) {
    Device device({GetParam(), "2"});
    for (size_t c = 0; c < products.size(); ++c) {
        const Product& t = products[c];
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

namespace {

// A matrix of `columns` x `depth` in a type that weights may have, and the numbers it stands for.
struct Packed {
    std::vector<std::byte> bytes;
    std::vector<double> plain;
};

Packed blocks_of(uint32_t dtype, int64_t columns, int64_t depth) {
    Packed out;
    const backplane::blocks::Facts facts = backplane::blocks::facts_of(dtype);
    const size_t size = backplane::sdk::dtype_info(dtype).bytes;
    const int64_t count = columns * depth / facts.elements;
    out.bytes.resize(static_cast<size_t>(count) * size);
    for (size_t i = 0; i < out.bytes.size(); ++i) out.bytes[i] = static_cast<std::byte>(37 * i + i / 251 + 11);
    for (size_t b = 0; b < static_cast<size_t>(count); ++b)
        for (const int factor : {facts.scale, facts.least}) {
            if (factor < 0) continue;
            std::byte* at = out.bytes.data() + b * size + static_cast<size_t>(factor);
            at[0] = std::byte{0};
            at[1] =
                static_cast<std::byte>((facts.largest > 128 ? 0x18 : 0x30) + b % 3 * 4);  // 2^-9 or 2^-3, and its doubles
        }
    out.plain.resize(static_cast<size_t>(columns * depth));
    backplane::blocks::decode(dtype, out.bytes.data(), count, static_cast<uint32_t>(size), out.plain.data());
    return out;
}

// Halves with few digits, the same numbers in both types: +-(1 + i / 8) / 4.
Packed halves_of(uint32_t dtype, int64_t columns, int64_t depth) {
    Packed out;
    for (int64_t i = 0; i < columns * depth; ++i) {
        const auto digits = static_cast<uint32_t>(i * 5 % 8);
        const uint32_t sign = i * 7 % 3 == 0 ? 1 : 0;
        const uint32_t bits = dtype == BP_F16 ? sign << 15 | 13u << 10 | digits << 7 : sign << 15 | 125u << 7 | digits << 4;
        out.bytes.push_back(static_cast<std::byte>(bits & 0xff));
        out.bytes.push_back(static_cast<std::byte>(bits >> 8));
        out.plain.push_back((sign != 0 ? -0.25 : 0.25) * (1 + digits / 8.0));
    }
    return out;
}

}  // namespace

TEST_P(MatMul, DecodesWeightsOfEveryTypeForAnyNumberOfRowsAndColumns) {
    Device device({GetParam(), "2"});
    for (const uint32_t dtype : {uint32_t{BP_F16}, uint32_t{BP_BF16}, uint32_t{BP_Q8_0}, uint32_t{BP_Q4_0},
                                 uint32_t{BP_Q4_1}, uint32_t{BP_Q3_K}, uint32_t{BP_Q4_K}, uint32_t{BP_Q6_K}})
        for (const int64_t m : {1, 2, 3, 4, 7, 100})
            for (const int64_t n : {1, 3, 17, 48, 130})
                for (const int64_t k : {32, 64, 224}) {
                    const int64_t block = backplane::sdk::dtype_info(dtype).block;
                    const bool blocks = block != 1;
                    const int64_t depth = block == 256 ? (k + 31) / 64 * 256 : blocks ? k : k - 3;
                    const Packed b = blocks ? blocks_of(dtype, n, depth) : halves_of(dtype, n, depth);
                    Graph g;
                    const Floats a = random_floats(m * depth, 5);
                    const auto w = g.bound_bytes(BP_ROLE_WEIGHT, {n, depth}, dtype, b.bytes);
                    const auto y =
                        g.add(BP_OP_matmul, {g.input({m, depth}, a), w}, {m, n}, {integer(BP_ATTR_transpose_b, 1)});
                    g.output(y);
                    Program program(device, g);
                    program.run();
                    const Floats got = program.read(y);
                    for (int64_t r = 0; r < m; ++r)
                        for (int64_t c = 0; c < n; ++c) {
                            double sum = 0;
                            double size = 0;
                            for (int64_t i = 0; i < depth; ++i) {
                                const double term = double{a[static_cast<size_t>(r * depth + i)]} *
                                                    b.plain[static_cast<size_t>(c * depth + i)];
                                sum += term;
                                size += std::fabs(term);
                            }
                            ASSERT_NEAR(got[static_cast<size_t>(r * n + c)], sum, 1e-6 * size)
                                << "type " << dtype << ", " << m << " x " << depth << " x " << n << ", row " << r
                                << " column " << c;
                        }
                }
}

TEST_P(MatMul, AWeightThatIsBothOperandsIsNotPackedForOne) {
    Device device({GetParam(), "1"});
    Graph g;
    const Floats w = random_floats(9, 6);
    const auto x = g.weight({3, 3}, w);
    const auto y = g.add(BP_OP_matmul, {x, x}, {3, 3});
    g.output(y);
    Program program(device, g);
    program.run();
    const Floats got = program.read(y);
    for (size_t r = 0; r < 3; ++r)
        for (size_t c = 0; c < 3; ++c)
            EXPECT_NEAR(got[r * 3 + c], w[r * 3] * w[c] + w[r * 3 + 1] * w[3 + c] + w[r * 3 + 2] * w[6 + c], 1e-5);
}
