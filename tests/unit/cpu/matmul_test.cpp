#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "backplane/ops/blocks.hpp"
#include "backplane/sdk.hpp"
#include "emulated_tiles.hpp"
#include "harness.hpp"
#include "products.hpp"

using namespace harness;

namespace {

struct Product {
    int64_t batch, m, k, n;
    bool ta, tb;
    bool weight;
};

const std::vector<Product> products = {
    {1, 1, 1, 1, false, false, true},
    {1, 7, 65, 70, false, false, true},
    {2, 13, 33, 17, true, false, false},
    {3, 6, 800, 64, false, true, true},
    {1, 1, 1000, 130, false, true, true},
    {1, 100, 20, 5, true, true, false},
    {1, 5, 384, 64, false, false, false},
    {1, 5, 0, 64, false, false, true},
    // Several parts of the depth, for blocks of one, two, three and four vectors, and more rows than a range has.
    {1, 13, 300, 130, false, true, true},
    {1, 97, 129, 50, false, true, true},
    {2, 100, 257, 33, false, false, true},
    {1, 200, 400, 17, false, true, true},
};

}  // namespace

// Each level, and the best one with a matrix unit that is emulated.
class MatMul : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (GetParam() == kEmulatedTiles && !has_emulated_tiles()) GTEST_SKIP() << "its vectors need AVX-512 BF16";
    }
};
INSTANTIATE_TEST_SUITE_P(Levels, MatMul, testing::ValuesIn(masks_and_emulated_tiles()));

TEST_P(MatMul, AgreesWithFloat64AndFusesBiasAndActivation) {
    UnitDevice device(GetParam(), "2");
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

TEST_P(MatMul, DecodesWeightsOfEveryTypeForAnyNumberOfRowsAndColumns) {
    UnitDevice device(GetParam(), "2");
    std::vector<uint32_t> types{BP_F16, BP_BF16};
    types.insert(types.end(), block_types.begin(), block_types.end());
    for (const uint32_t dtype : types)
        for (const int64_t m : {1, 2, 3, 4, 7, 100})
            for (const int64_t n : {1, 3, 17, 48, 130})
                for (const int64_t k : {32, 64, 288}) {
                    const int64_t block = backplane::sdk::dtype_info(dtype).block;
                    const bool blocks = block != 1;
                    const int64_t depth = block == 256 ? (k + 31) / 64 * 256 : blocks ? k : k - 3;
                    const Packed b = blocks ? blocks_of(dtype, n, depth) : halves_of(dtype, n, depth);
                    const Floats a = random_floats(m * depth, 5);
                    const Floats got = product(device, a, b, dtype, m, n, depth);
                    for (int64_t r = 0; r < m; ++r)
                        for (int64_t c = 0; c < n; ++c) {
                            const Exact want = exact(a, b, depth, r, c);
                            ASSERT_NEAR(got[static_cast<size_t>(r * n + c)], want.sum, 1e-6 * want.size)
                                << "type " << dtype << ", " << m << " x " << depth << " x " << n << ", row " << r
                                << " column " << c;
                        }
                }
}

// Half a byte's step of the largest of 32 activations, for each.
TEST_P(MatMul, RelaxedActivationsAreWithinAByteOfTheirBlock) {
    UnitDevice device(GetParam(), "2");
    for (const uint32_t dtype : block_types)
        for (const int64_t m : {1, 3, 4, 13, 98, 400})
            for (const int64_t n : {1, 17, 33, 48, 130}) {
                if (m == 400 && n != 130) continue;
                const int64_t k = dtype == BP_Q8_0 ? 288 : 512;
                const Packed b = blocks_of(dtype, n, k);
                Floats a = random_floats(m * k, 5);
                for (size_t i = 0; i < a.size(); ++i) a[i] = std::ldexp(a[i], static_cast<int>(i / 32 % 9) * 3 - 12);
                const Floats got = product(device, a, b, dtype, m, n, k, BP_MATH_RELAXED);
                for (int64_t r = 0; r<m; r += m> 100 ? 37 : 1)
                    for (int64_t c = 0; c < n; ++c) {
                        const double bound = byte_bound(a, b, k, r, c);
                        const Exact want = exact(a, b, k, r, c);
                        ASSERT_NEAR(got[static_cast<size_t>(r * n + c)], want.sum, bound * 1.001 + 1e-5 * want.size)
                            << "type " << dtype << ", " << m << " x " << k << " x " << n << ", row " << r << " column " << c;
                    }
            }
}

// What a byte holds exactly is exact, rows without numbers are no numbers and leave the others alone, and zeros are zeros.
TEST_P(MatMul, RelaxedActivationsKeepWholeNumbersAndWhatIsNone) {
    UnitDevice device(GetParam(), "2");
    constexpr size_t k = 512, n = 70;
    for (const uint32_t dtype : block_types) {
        const Packed b = blocks_of(dtype, n, k);
        // A scale within a block times its digit has more digits than a tile's numbers.
        const bool scales_inside = backplane::sdk::dtype_info(dtype).block == 256;
        for (const size_t m : {3, 40}) {
            const double off = scales_inside && m > 3 && std::string(GetParam()) == kEmulatedTiles ? 0x1p-8 : 2e-6;
            const size_t infinite = m - 1, none = 0, zero = m > 3 ? 5 : 1;
            Floats a(m * k);
            for (size_t i = 0; i < a.size(); ++i)
                a[i] = i % 32 == 0 ? 127 : static_cast<float>(static_cast<int>(i * 7 % 255) - 127);
            for (size_t i = 0; i < k; ++i) a[zero * k + i] = 0;
            a[infinite * k + 100] = std::numeric_limits<float>::infinity();
            a[none * k + 100] = std::numeric_limits<float>::quiet_NaN();
            if (m > 3) a[13 * k + 1] = 1e-40F;
            const Floats got = product(device, a, b, dtype, m, n, k, BP_MATH_RELAXED);
            for (size_t at = 0; at < m * n; ++at) {
                const size_t r = at / n, c = at % n;
                const float value = got[at];
                if (r == infinite || r == none) {
                    EXPECT_FALSE(std::isfinite(value)) << "type " << dtype << " row " << r << " column " << c;
                    continue;
                }
                const Exact want = exact(a, b, k, static_cast<int64_t>(r), static_cast<int64_t>(c));
                ASSERT_NEAR(value, want.sum, off * want.size) << "type " << dtype << " row " << r << " column " << c;
            }
        }
    }
}

namespace {

float as_bf16(float x) {
    uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    bits &= 0xffff0000U;
    std::memcpy(&x, &bits, sizeof bits);
    return x;
}

}  // namespace

// Weights of bf16: a number of eight digits may stand for each activation, and sums are of floats.
TEST_P(MatMul, RelaxedActivationsBesideBf16AreWithinHalfOfItsStep) {
    UnitDevice device(GetParam(), "2");
    for (const int64_t m : {1, 3, 4, 5, 7, 13, 98, 400})
        for (const int64_t n : {1, 16, 17, 33, 48, 130})
            for (const int64_t k : {1, 2, 15, 31, 64, 255, 256, 257, 515}) {
                if (m == 400 && n != 130) continue;
                const Packed b = halves_of(BP_BF16, n, k);
                Floats a = random_floats(m * k, 5);
                for (size_t i = 0; i < a.size(); ++i) a[i] = std::ldexp(a[i], static_cast<int>(i % 9) * 3 - 12);
                const Floats got = product(device, a, b, BP_BF16, m, n, k, BP_MATH_RELAXED);
                for (int64_t r = 0; r<m; r += m> 100 ? 37 : 1)
                    for (int64_t c = 0; c < n; ++c) {
                        const Exact want = exact(a, b, k, r, c);
                        ASSERT_NEAR(got[static_cast<size_t>(r * n + c)], want.sum, want.size * (0x1p-8 + 1e-5))
                            << m << " x " << k << " x " << n << ", row " << r << " column " << c;
                    }
            }
}

// What bf16 holds loses nothing, so that a graph of bf16 alone needs no leave: within the bound of floats, in either math.
TEST_P(MatMul, ActivationsThatAreBf16LoseNothing) {
    UnitDevice device(GetParam(), "2");
    for (const int64_t m : {1, 4, 11, 100})
        for (const int64_t k : {33, 512, 700}) {
            constexpr int64_t n = 70;
            const Packed b = halves_of(BP_BF16, n, k);
            Floats a = random_floats(m * k, 7);
            std::vector<std::byte> halves;
            for (float& x : a) {
                x = as_bf16(x);
                uint32_t bits = 0;
                std::memcpy(&bits, &x, sizeof bits);
                halves.push_back(static_cast<std::byte>(bits >> 16 & 0xff));
                halves.push_back(static_cast<std::byte>(bits >> 24));
            }
            Graph g;
            const auto w = g.bound_bytes(BP_ROLE_WEIGHT, {n, k}, BP_BF16, b.bytes);
            const auto x = g.bound_bytes(BP_ROLE_INPUT, {m, k}, BP_BF16, halves);
            const auto wide = g.add(BP_OP_cast, {x}, {m, k}, {integer(BP_ATTR_to, BP_F32)});
            const auto y = g.add(BP_OP_matmul, {wide, w}, {m, n}, {integer(BP_ATTR_transpose_b, 1)});
            g.output(y);
            Program program(device, g);
            program.run();
            const Floats mixed = program.read(y);
            const Floats relaxed = product(device, a, b, BP_BF16, m, n, k, BP_MATH_RELAXED);
            for (int64_t r = 0; r < m; ++r)
                for (int64_t c = 0; c < n; ++c) {
                    const Exact want = exact(a, b, k, r, c);
                    const auto at = static_cast<size_t>(r * n + c);
                    ASSERT_NEAR(mixed[at], want.sum, bound_of(k) * want.size) << m << " x " << k << ", row " << r;
                    ASSERT_NEAR(relaxed[at], want.sum, bound_of(k) * want.size) << m << " x " << k << ", row " << r;
                }
        }
}

// Without leave activations of floats keep their digits beside bf16, and what is not finite spoils its row alone.
TEST_P(MatMul, Bf16WeightsAloneRoundNothingAndWhatIsNotFiniteSpoilsItsRow) {
    UnitDevice device(GetParam(), "2");
    constexpr int64_t m = 9, k = 300, n = 40;
    const Packed b = halves_of(BP_BF16, n, k);
    Floats a = random_floats(m * k, 3);
    for (int64_t r = 0; r < m; ++r)
        for (int64_t c = 0; c < n; ++c) {
            const Exact want = exact(a, b, k, r, c);
            ASSERT_NEAR(product(device, a, b, BP_BF16, m, n, k)[static_cast<size_t>(r * n + c)], want.sum,
                        bound_of(k) * want.size);
            if (c == 3) break;
        }
    a[2 * k + 100] = std::numeric_limits<float>::infinity();
    a[5 * k + 299] = std::numeric_limits<float>::quiet_NaN();
    const Floats got = product(device, a, b, BP_BF16, m, n, k, BP_MATH_RELAXED);
    for (int64_t r = 0; r < m; ++r)
        for (int64_t c = 0; c < n; ++c)
            EXPECT_EQ(std::isfinite(got[static_cast<size_t>(r * n + c)]), r != 2 && r != 5)
                << "row " << r << " column " << c;
}

TEST_P(MatMul, AWeightThatIsBothOperandsIsNotPackedForOne) {
    UnitDevice device(GetParam(), "1");
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

namespace {

struct Activations {
    const char* name;
    std::function<float(size_t)> at;
};

// What numbers with a common exponent cannot hold.
std::vector<Activations> worst_activations() {
    const Floats some = random_floats(4096, 9);
    const auto is_nth = [](size_t i) { return i % 32 == i / 32 % 32; };  // one of each 32
    return {
        // Where its weight is 0, nothing of it is in the result or the bound.
        {"one of a row a trillion times as large", [=](size_t i) { return some[i] * (i % 512 == 37 ? 1e12F : 1.0F); }},
        {"one of 32 alone", [=](size_t i) { return is_nth(i) ? some[i] : 0.0F; }},
        {"each half of that before", [=](size_t i) { return std::ldexp(some[i], -static_cast<int>(i % 32)); }},
        {"of all sizes", [=](size_t i) { return std::ldexp(some[i], static_cast<int>(i * 37 % 160) - 100); }},
        {"below the normal numbers", [=](size_t i) { return std::ldexp(some[i], -130); }},
        {"equal, of both signs", [](size_t i) { return i % 3 == 0 ? -1.0F : 1.0F; }},
        {"the largest that fit", [](size_t i) { return (i % 2 == 0 ? 1.0F : -1.0F) * 0x1.fffffep90F; }},
        {"zero", [](size_t) { return -0.0F; }},
    };
}

}  // namespace

TEST_P(MatMul, FewRowsByBlocksAreWithinTheBoundWhateverTheActivations) {
    UnitDevice device(GetParam(), "1");
    constexpr int64_t k = 512, n = 130;
    for (const uint32_t dtype : block_types) {
        Packed b = blocks_of(dtype, n, k);
        for (const Activations& how : worst_activations())
            for (const int64_t m : {1, 3, 98}) {
                Floats a(static_cast<size_t>(m * k));
                for (size_t i = 0; i < a.size(); ++i) a[i] = how.at(i % 4096);
                const Floats got = product(device, a, b, dtype, m, n, k);
                for (int64_t r = std::max<int64_t>(0, m - 3); r < m; ++r)
                    for (int64_t c = 0; c < n; ++c) {
                        const Exact want = exact(a, b, k, r, c);
                        ASSERT_NEAR(got[static_cast<size_t>(r * n + c)], want.sum, bound_of(k) * want.size + 0x1p-140)
                            << "type " << dtype << ", activations " << how.name << ", row " << r << " of " << m
                            << ", column " << c;
                    }
            }
    }
}

// scale * digit and least are 7 * 2^-3 and 1 to 130 parts in 1,024 more: what is left of them is a weight, and most of their digits go.
TEST_P(MatMul, FewRowsByBlocksOfWeightsNearZeroAreWithinTheBound) {
    UnitDevice device(GetParam(), "1");
    constexpr int64_t m = 1, k = 512, n = 130;
    for (const uint32_t dtype : {BP_Q4_1, BP_Q4_K}) {
        const backplane::blocks::Facts facts = backplane::blocks::facts_of(dtype);
        const size_t size = backplane::sdk::dtype_info(dtype).bytes;
        Packed b;
        b.bytes.assign(static_cast<size_t>(n * k / facts.elements) * size, std::byte{0x77});  // all digits are 7
        for (size_t i = 0; i < b.bytes.size(); i += size) {
            const size_t column = i / size * static_cast<size_t>(facts.elements) / k;
            const bool added = dtype == BP_Q4_1;
            const auto put_half = [&](size_t at, size_t half) {
                b.bytes[i + at] = static_cast<std::byte>(half & 0xff);
                b.bytes[i + at + 1] = static_cast<std::byte>(half >> 8);
            };
            put_half(0, 0x3000);                                                // 2^-3
            put_half(2, (added ? 0xbb00U : 0x3000U) + (column % 13) * 10 + 1);  // times -7 there, and a little more
            if (added) continue;
            for (size_t group = 0; group < 4; ++group) {  // scales of 1, leasts of 7
                b.bytes[i + 4 + group] = std::byte{1};
                b.bytes[i + 8 + group] = std::byte{7};
                b.bytes[i + 12 + group] = std::byte{0x71};
            }
        }
        b.plain.resize(static_cast<size_t>(n * k));
        backplane::blocks::decode(dtype, b.bytes.data(), n * k / facts.elements, static_cast<uint32_t>(size),
                                  b.plain.data());
        Floats a = random_floats(m * k, 4);
        for (float& x : a) x = 1 + std::fabs(x);
        const Floats got = product(device, a, b, dtype, m, n, k);
        for (int64_t c = 0; c < n; ++c) {
            const Exact want = exact(a, b, k, 0, c);
            ASSERT_NEAR(got[static_cast<size_t>(c)], want.sum, bound_of(k) * want.size)
                << "type " << dtype << ", column " << c;
        }
    }
}

TEST_P(MatMul, WhatIsNotFiniteBesideBlocksSpoilsItsRowAlone) {
    UnitDevice device(GetParam(), "1");
    constexpr int64_t m = 3, k = 256, n = 20;
    for (const uint32_t dtype : block_types) {
        Floats a = random_floats(m * k, 3);
        a[37] = std::numeric_limits<float>::infinity();
        a[static_cast<size_t>(2 * k + 200)] = std::numeric_limits<float>::quiet_NaN();
        const Packed b = blocks_of(dtype, n, k);
        const Floats got = product(device, a, b, dtype, m, n, k);
        for (size_t c = 0; c < n; ++c) {
            const double weight = b.plain[c * k + 37];
            if (weight != 0) {
                EXPECT_EQ(got[c], std::copysign(a[37], static_cast<float>(weight))) << "type " << dtype;
            } else {
                EXPECT_TRUE(std::isnan(got[c])) << "type " << dtype;
            }
            EXPECT_TRUE(std::isfinite(got[n + c])) << "type " << dtype;
            EXPECT_TRUE(std::isnan(got[2 * n + c])) << "type " << dtype;
        }
    }
}
