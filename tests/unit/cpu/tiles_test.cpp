// What goes to a matrix unit, and what numbers that its planes do not hold make of a product.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "emulated_tiles.hpp"
#include "products.hpp"
#include "tile_plan.hpp"

using namespace harness;
using backplane::cpu::plan_tiles;
using backplane::cpu::TilePlan;
using backplane::cpu::TileRequest;

namespace {

// A unit of known speed; its functions are not called.
backplane::cpu::Kernels some_unit() {
    backplane::cpu::Kernels kernels{};
    kernels.conv.block = 64;
    kernels.tiles.costs = {.product = 1.0 / 160, .decode = 0.15, .element = 0.1, .plane = 0.15};
    kernels.tiles.run = [](const backplane::cpu::TilesTask&, int64_t, int64_t, int64_t, int64_t) { return 0U; };
    return kernels;
}

TileRequest request(int64_t rows, int64_t depth, int64_t columns, backplane::cpu::PackedType type, uint32_t math) {
    TileRequest r;
    r.rows = rows;
    r.depth = depth;
    r.columns = columns;
    r.type = type;
    r.math = math;
    return r;
}

}  // namespace

class Tiles : public testing::Test {
protected:
    void SetUp() override {
        if (!has_emulated_tiles()) GTEST_SKIP() << "the emulated unit's vectors need AVX-512 BF16";
    }
};

TEST(TilePlan, IsUsedWhereItIsFasterAndNeverUnderStrictMath) {
    using namespace backplane::cpu;
    const Kernels kernels = some_unit();
    EXPECT_TRUE(plan_tiles(kernels, request(512, 2048, 2048, kPackedF32, BP_MATH_DEFAULT)).used);
    EXPECT_FALSE(plan_tiles(kernels, request(512, 2048, 2048, kPackedF32, BP_MATH_STRICT)).used);
    EXPECT_FALSE(plan_tiles(kernels, request(4, 2048, 2048, kPackedF32, BP_MATH_DEFAULT)).used);  // a quarter of a tile
    EXPECT_FALSE(plan_tiles(kernels, request(1, 2048, 2048, kPackedQ8, BP_MATH_RELAXED)).used);
    EXPECT_FALSE(plan_tiles(kernels, request(512, 0, 2048, kPackedF32, BP_MATH_DEFAULT)).used);
    EXPECT_FALSE(plan_tiles(Kernels{}, request(512, 2048, 2048, kPackedF32, BP_MATH_DEFAULT)).used);
    // With a thread on each half of a core six products are more than the vectors need, one is not.
    TileRequest crowded = request(512, 2048, 2048, kPackedF32, BP_MATH_DEFAULT);
    crowded.shares_cores = true;
    EXPECT_FALSE(plan_tiles(kernels, crowded).used);
    crowded.math = BP_MATH_RELAXED;
    EXPECT_TRUE(plan_tiles(kernels, crowded).used);
    // Making planes of the left side costs more than one column spares.
    EXPECT_FALSE(plan_tiles(kernels, request(4096, 2048, 1, kPackedF32, BP_MATH_DEFAULT)).used);
}

TEST(TilePlan, HasAsManyPlanesAsTheNumbersHaveBitsUnlessTheyMayBeRounded) {
    using namespace backplane::cpu;
    const Kernels kernels = some_unit();
    const auto planes = [&](PackedType type, uint32_t math, int a_bits) {
        TileRequest r = request(512, 512, 512, type, math);
        r.a_bits = a_bits;
        const TilePlan plan = plan_tiles(kernels, r);
        EXPECT_EQ(plan.exact, math == BP_MATH_DEFAULT);
        return std::pair(plan.a_planes, plan.b_planes);
    };
    EXPECT_EQ(planes(kPackedF32, BP_MATH_DEFAULT, 24), std::pair(3, 3));
    EXPECT_EQ(planes(kPackedF16, BP_MATH_DEFAULT, 11), std::pair(2, 2));
    EXPECT_EQ(planes(kPackedBF16, BP_MATH_DEFAULT, 8), std::pair(1, 1));
    EXPECT_EQ(planes(kPackedBF16, BP_MATH_DEFAULT, 24), std::pair(3, 1));
    EXPECT_EQ(planes(kPackedQ8, BP_MATH_DEFAULT, 24), std::pair(3, 3));
    EXPECT_EQ(planes(kPackedQ4, BP_MATH_DEFAULT, 24), std::pair(3, 2));
    EXPECT_EQ(planes(kPackedF32, BP_MATH_RELAXED, 24), std::pair(1, 1));
    EXPECT_EQ(planes(kPackedQ8, BP_MATH_RELAXED, 24), std::pair(1, 1));
    EXPECT_EQ(planes(kPackedQ4K, BP_MATH_RELAXED, 24), std::pair(1, 1));
}

TEST(TilePlan, GivesThreadsEqualPartsOfWholeTiles) {
    using namespace backplane::cpu;
    const Kernels kernels = some_unit();
    EXPECT_EQ(plan_tiles(kernels, request(512, 512, 2048, kPackedF32, BP_MATH_DEFAULT)).chunk, 256);
    EXPECT_EQ(plan_tiles(kernels, request(512, 512, 2048, kPackedQ8, BP_MATH_DEFAULT)).chunk, 512);
    EXPECT_EQ(plan_tiles(kernels, request(750, 512, 1024, kPackedF32, BP_MATH_DEFAULT)).chunk, 384);
    EXPECT_EQ(plan_tiles(kernels, request(1100, 512, 4096, kPackedF32, BP_MATH_DEFAULT)).chunk, 384);
    EXPECT_EQ(plan_tiles(kernels, request(1100, 512, 4096, kPackedBF16, BP_MATH_DEFAULT)).chunk, 576);
    EXPECT_EQ(plan_tiles(kernels, request(512, 512, 64, kPackedF32, BP_MATH_DEFAULT)).chunk, 64);
    EXPECT_EQ(plan_tiles(kernels, request(40, 512, 64, kPackedF32, BP_MATH_DEFAULT)).chunk, 64);
    // Many threads want more parts.
    const auto of_threads = [&](int64_t rows, int64_t columns, uint32_t threads) {
        TileRequest r = request(rows, 512, columns, kPackedBF16, BP_MATH_RELAXED);
        r.threads = threads;
        return plan_tiles(kernels, r).chunk;
    };
    EXPECT_EQ(of_threads(512, 2048, 8), 512);
    EXPECT_EQ(of_threads(512, 2048, 16), 256);
    EXPECT_EQ(of_threads(750, 1024, 16), 192);
    EXPECT_EQ(of_threads(512, 4096, 16), 512);
    EXPECT_EQ(of_threads(64, 64, 256), 64);
}

// What is decoded between the products: of so many rows that they stay in the second-level cache.
TEST(TilePlan, GivesRowsByWholeDepthsToRoundedWeightsInBlocks) {
    using namespace backplane::cpu;
    const Kernels kernels = some_unit();
    EXPECT_EQ(plan_tiles(kernels, request(512, 2048, 2048, kPackedQ8, BP_MATH_RELAXED)).chunk, 256);
    EXPECT_EQ(plan_tiles(kernels, request(2048, 512, 4096, kPackedQ4, BP_MATH_RELAXED)).chunk, 1024);
    EXPECT_EQ(plan_tiles(kernels, request(2048, 32, 4096, kPackedQ4, BP_MATH_RELAXED)).chunk, 1024);
    EXPECT_EQ(plan_tiles(kernels, request(512, 2080, 2048, kPackedQ8, BP_MATH_RELAXED)).chunk, 512);
    EXPECT_EQ(plan_tiles(kernels, request(512, 2048, 2048, kPackedQ4K, BP_MATH_RELAXED)).chunk, 256);
    EXPECT_EQ(plan_tiles(kernels, request(512, 2304, 2048, kPackedQ6K, BP_MATH_RELAXED)).chunk, 512);
    EXPECT_EQ(plan_tiles(kernels, request(512, 2048, 2048, kPackedQ8, BP_MATH_DEFAULT)).chunk, 512);
}

// Each of three planes, no more: what they lose, and what the unit makes zero, is within the bound of floats.
TEST_F(Tiles, FloatsOfAnySizeAreWithinTheBound) {
    UnitDevice device(kEmulatedTiles, "2");
    constexpr int64_t m = 70, k = 300, n = 50;
    const Floats some = random_floats(m * k, 11);
    for (const int smallest : {0, -20, -60, -100, -110, -140})
        for (const int of_weights : {0, -30, -110, -140}) {
            Floats a = some;
            for (size_t i = 0; i < a.size(); ++i) a[i] = std::ldexp(a[i], i % 7 == 0 ? smallest : 0);
            Packed b;
            const Floats weights = random_floats(k * n, 12);
            b.bytes.resize(weights.size() * sizeof(float));
            for (size_t i = 0; i < weights.size(); ++i) {
                // Where activations are large weights are zero in some columns: the small ones alone are left.
                const size_t column = i / k;
                const bool only_small = column % 5 == 0 && column < 25;
                float w = std::ldexp(weights[i], column % 3 == 0 ? of_weights : 0);
                if (only_small && i % k % 7 != 0) w = 0;
                std::memcpy(b.bytes.data() + i * sizeof w, &w, sizeof w);
                b.plain.push_back(w);
            }
            const Floats got = product(device, a, b, BP_F32, m, n, k);
            for (int64_t r = 0; r < m; r += 3)
                for (int64_t c = 0; c < n; ++c) {
                    const Exact want = exact(a, b, k, r, c);
                    // Products below the smallest normal number may be zero.
                    ASSERT_NEAR(got[static_cast<size_t>(r * n + c)], want.sum, bound_of(k) * want.size + k * 0x1p-126)
                        << "activations from 2^" << smallest << ", weights from 2^" << of_weights << ", row " << r
                        << " column " << c;
                }
        }
}

// One plane of so many depths that the rows of tiles stand apart, in several parts of the depth; all tiles whole, and rows and columns left.
TEST_F(Tiles, LongRowsOfOnePlaneAreWithinWhatRoundingCosts) {
    UnitDevice device(kEmulatedTiles, "2");
    for (const auto [m, n, k] : {std::array<int64_t, 3>{70, 70, 1056}, {70, 70, 2048}, {32, 96, 1056}, {16, 48, 64}}) {
        const Floats a = random_floats(m * k, 21);
        for (const uint32_t dtype : {uint32_t{BP_Q8_0}, uint32_t{BP_BF16}}) {
            const Packed b = dtype == BP_BF16 ? halves_of(dtype, n, k) : blocks_of(dtype, n, k);
            const Floats got = product(device, a, b, dtype, m, n, k, BP_MATH_RELAXED);
            for (int64_t r = 0; r < m; ++r)
                for (int64_t c = 0; c < n; ++c) {
                    const Exact want = exact(a, b, k, r, c);
                    ASSERT_NEAR(got[static_cast<size_t>(r * n + c)], want.sum, want.size * 0x1p-7)
                        << "type " << dtype << ", " << m << " x " << n << " x " << k << ", row " << r << " column " << c;
                }
        }
    }
}

// Decoded between products, pair after pair of vectors of columns; a vector alone at the end of a block, of a part and of all; more rows than go at a time,
// and fewer than the tiles that are to be decoded beside them; and of a depth more, where they are not.
TEST_F(Tiles, WeightsInBlocksAreWithinWhatRoundingCosts) {
    UnitDevice device(kEmulatedTiles, "2");
    for (const auto [m, n, depth] :
         {std::array<int64_t, 3>{70, 176, 96}, {17, 50, 32}, {33, 16, 64}, {5, 300, 64}, {270, 130, 2048}, {40, 80, 2080}})
        for (const uint32_t dtype : block_types) {
            const int64_t size = backplane::sdk::dtype_info(dtype).block;
            const int64_t k = (depth + size - 1) / size * size;
            const Floats a = random_floats(m * k, 41);
            const Packed b = blocks_of(dtype, n, k);
            const Floats got = product(device, a, b, dtype, m, n, k, BP_MATH_RELAXED);
            for (int64_t r = 0; r<m; r += m> 100 ? 3 : 1)
                for (int64_t c = 0; c < n; ++c) {
                    const Exact want = exact(a, b, k, r, c);
                    ASSERT_NEAR(got[static_cast<size_t>(r * n + c)], want.sum, want.size * 0x1p-7)
                        << "type " << dtype << ", " << m << " x " << n << " x " << k << ", row " << r << " column " << c;
                }
        }
}

// To the nearest where digits are indices; others are cut, by no more than five quarters of what that may cost, and of a difference some of what its
// terms lose.
TEST_F(Tiles, WeightsInBlocksAreRounded) {
    UnitDevice device(kEmulatedTiles, "1");
    constexpr int64_t n = 70;
    for (const uint32_t dtype : block_types) {
        const auto scale = static_cast<size_t>(backplane::blocks::facts_of(dtype).scale);
        const uint32_t size = backplane::sdk::dtype_info(dtype).bytes, of_block = backplane::sdk::dtype_info(dtype).block;
        const int64_t k = std::max<int64_t>(64, of_block);
        Floats each(static_cast<size_t>(k * k), 0.0F);  // every weight by itself
        for (int64_t r = 0; r < k; ++r) each[static_cast<size_t>(r * k + r)] = 1;
        Packed b = blocks_of(dtype, n, k);
        uint8_t low = 0xb5;  // more digits than bf16 has, and all of them in turn
        for (size_t at = scale; at < b.bytes.size(); at += size) {
            b.bytes[at] = std::byte{low};
            low = static_cast<uint8_t>(low + 46);
        }
        backplane::blocks::decode(dtype, b.bytes.data(), n * k / of_block, size, b.plain.data());
        const Floats got = product(device, each, b, dtype, k, n, k, BP_MATH_RELAXED);
        const bool indices = dtype == BP_IQ4_NL || dtype == BP_IQ4_XS;
        const double most = std::abs(*std::ranges::max_element(b.plain, {}, [](float w) { return std::abs(w); }));
        double more = 0, all = 0;
        for (int64_t r = 0; r < k; ++r)
            for (int64_t c = 0; c < n; ++c) {
                const double want = b.plain[static_cast<size_t>(c * k + r)];
                const double is = got[static_cast<size_t>(r * n + c)];
                ASSERT_NEAR(is, want, std::abs(want) * (indices ? 0x1.001p-8 : 0x1.41p-8) + most * 0x1p-15)
                    << "type " << dtype << ", row " << r << " column " << c;
                more += std::abs(is) - std::abs(want);
                all += std::abs(want);
            }
        EXPECT_LE(std::abs(more / all), 0x1p-11) << "type " << dtype << ": all are too large, or too small";
    }
}

// Rounding by adding would make a number of some of them.
TEST_F(Tiles, AScaleThatIsNoNumberSpoilsItsColumnAlone) {
    UnitDevice device(kEmulatedTiles, "1");
    constexpr int64_t m = 33, n = 70, k = 64, spoilt = 37;
    const Floats a = random_floats(m * k, 51);
    // A scale, or a least, is two bytes of each block, from `at` on.
    for (const auto& [dtype, at] : {std::pair<uint32_t, size_t>{BP_Q8_0, 0}, {BP_Q4_0, 0}, {BP_Q4_1, 0}, {BP_Q4_1, 2}}) {
        const Packed good = blocks_of(dtype, n, k);
        const size_t size = good.bytes.size() / (n * k / 32);
        for (const uint16_t scale : {uint16_t{0x7fff}, uint16_t{0xffff}, uint16_t{0x7e00}}) {
            Packed b = good;
            std::memcpy(b.bytes.data() + (spoilt * k / 32 + 1) * size + at, &scale, sizeof scale);
            const Floats got = product(device, a, b, dtype, m, n, k, BP_MATH_RELAXED);
            for (int64_t r = 0; r < m; ++r)
                for (int64_t c = 0; c < n; ++c)
                    ASSERT_EQ(std::isnan(got[static_cast<size_t>(r * n + c)]), c == spoilt)
                        << "type " << dtype << ", " << scale << " at " << at << ", row " << r << " column " << c;
        }
    }
}

// Rows with numbers that no planes hold are done without the unit, and others are as they were.
TEST_F(Tiles, WhatIsNotFiniteStaysInItsRowAndColumn) {
    UnitDevice device(kEmulatedTiles, "1");
    constexpr int64_t m = 40, k = 600, n = 270;  // several blocks of columns at a time, in parts of the depth
    Floats a = random_floats(m * k, 1);
    for (float& x : a) x = std::fabs(x) + 1;
    a[5 * k + 7] = std::numeric_limits<float>::infinity();
    a[33 * k + 7] = std::numeric_limits<float>::quiet_NaN();
    a[20 * k + 1] = 0x1.fffffep127F;  // in bf16 it would be infinite
    Packed b;
    for (int64_t i = 0; i < k * n; ++i) b.plain.push_back(i / k % 2 == 0 ? 0.25 : 0.5);
    b.plain[66 * k + 500] = -std::numeric_limits<double>::infinity();  // in the second block, and not its first part
    b.bytes.resize(b.plain.size() * sizeof(float));
    for (size_t i = 0; i < b.plain.size(); ++i) {
        const auto w = static_cast<float>(b.plain[i]);
        std::memcpy(b.bytes.data() + i * sizeof w, &w, sizeof w);
    }
    const Floats got = product(device, a, b, BP_F32, m, n, k);
    for (int64_t r = 0; r < m; ++r)
        for (int64_t c = 0; c < n; ++c) {
            const float value = got[static_cast<size_t>(r * n + c)];
            if (r == 33 || (r == 5 && c == 66)) {
                EXPECT_TRUE(std::isnan(value)) << "row " << r << " column " << c;
            } else if (r == 5 || c == 66) {
                EXPECT_EQ(value, c == 66 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity())
                    << "row " << r << " column " << c;
            } else {
                const Exact want = exact(a, b, k, r, c);
                EXPECT_NEAR(value, want.sum, bound_of(k) * want.size) << "row " << r << " column " << c;
            }
        }
}

// Nobody looks for them where weights are rounded: a NaN of any bits reaches the results of its column, and no others.
TEST_F(Tiles, RoundedWeightsThatAreNoNumbersStayNone) {
    UnitDevice device(kEmulatedTiles, "1");
    constexpr int64_t m = 40, k = 600, n = 70;
    const Floats a(m * k, 1.0F);
    for (const uint32_t bits : {0xffffffffU, 0x7fffffffU, 0x7fff8000U, 0x7fc00000U}) {
        Packed b;
        b.plain.assign(k * n, 0.5);
        b.bytes.resize(b.plain.size() * sizeof(float));
        const Floats weights(k * n, 0.5F);
        std::memcpy(b.bytes.data(), weights.data(), b.bytes.size());
        std::memcpy(b.bytes.data() + (66 * k + 500) * sizeof bits, &bits, sizeof bits);
        const Floats got = product(device, a, b, BP_F32, m, n, k, BP_MATH_RELAXED);
        for (int64_t i = 0; i < m * n; ++i)
            ASSERT_EQ(std::isnan(got[static_cast<size_t>(i)]), i % n == 66) << std::hex << bits << std::dec << ", at " << i;
    }
}

// Weights that no planes hold, which is seen while what is before them is multiplied: at the beginning of the depth, in a later part of it, in one block
// of columns, in the last and in all.
TEST_F(Tiles, BlocksWithWeightsThatNoPlanesHoldAreDoneWithoutTheUnit) {
    UnitDevice device(kEmulatedTiles, "1");
    constexpr int64_t m = 70, k = 600, n = 300;
    const Floats a = random_floats(m * k, 61);
    using Places = std::vector<std::pair<int64_t, int64_t>>;  // column, depth
    for (const Places& places : {Places{{3, 0}}, Places{{66, 500}}, Places{{130, 130}, {299, 599}},
                                 Places{{0, 599}, {64, 300}, {128, 0}, {192, 256}, {256, 127}}}) {
        Floats weights = random_floats(k * n, 62);
        for (const auto& [column, depth] : places) weights[static_cast<size_t>(column * k + depth)] = 0x1p-140F;
        Packed b;
        b.plain.assign(weights.begin(), weights.end());
        b.bytes.resize(weights.size() * sizeof(float));
        std::memcpy(b.bytes.data(), weights.data(), b.bytes.size());
        const Floats got = product(device, a, b, BP_F32, m, n, k);
        for (int64_t r = 0; r < m; ++r)
            for (int64_t c = 0; c < n; ++c) {
                const Exact want = exact(a, b, k, r, c);
                ASSERT_NEAR(got[static_cast<size_t>(r * n + c)], want.sum, bound_of(k) * want.size)
                    << places.size() << " places, row " << r << " column " << c;
            }
    }
}

// What follows a product is done once, with what stands in its place, in whole and in parts of the depth.
TEST_F(Tiles, AddsWhatFollowsOnce) {
    UnitDevice device(kEmulatedTiles, "2");
    for (const int64_t k : {64, 300, 600}) {
        constexpr int64_t m = 83, n = 270;
        Graph g;
        const Floats a = random_floats(2 * m * k, 1), w = random_floats(k * n, 2), bias = random_floats(n, 3);
        const Floats rest = random_floats(2 * m * n, 4);
        const Dims shape{2, m, n};
        const auto p = g.add(BP_OP_matmul, {g.input({2, m, k}, a), g.weight({k, n}, w)}, shape);
        const auto q = g.add(BP_OP_silu, {g.add(BP_OP_add, {p, g.weight({n}, bias)}, shape)}, shape);
        const auto y = g.add(BP_OP_add, {q, g.input(shape, rest)}, shape);
        g.output(y);
        Program program(device, g);
        EXPECT_NE(std::string(program.info.summary).find(", tiles"), std::string::npos) << program.info.summary;
        program.run();
        const Floats got = program.read(y);
        for (int64_t r = 0; r < 2 * m; ++r)
            for (int64_t c = 0; c < n; ++c) {
                double sum = bias[static_cast<size_t>(c)];
                for (int64_t i = 0; i < k; ++i)
                    sum += double{a[static_cast<size_t>(r * k + i)]} * w[static_cast<size_t>(i * n + c)];
                const auto at = static_cast<size_t>(r * n + c);
                ASSERT_NEAR(got[at], sum / (1 + std::exp(-sum)) + rest[at], 1e-5 * std::sqrt(k)) << r << ", " << c;
            }
    }
}

#ifdef BP_TEST_EMULATED_TILES
// ggml's module sets its tiles once a thread, and would end with an illegal instruction.
TEST_F(Tiles, WhatOthersSetOnAThreadIsThereAfterAProduct) {
    UnitDevice device(kEmulatedTiles, "1");
    constexpr int64_t m = 32, n = 64, k = 64;
    const Floats a = random_floats(m * k, 31);
    const Packed b = halves_of(BP_BF16, n, k);
    for (const int set : {0, 7}) {
        *bp_cpu_tiles_emulated_setting() = set;
        const Floats got = product(device, a, b, BP_BF16, m, n, k, BP_MATH_RELAXED);
        EXPECT_EQ(*bp_cpu_tiles_emulated_setting(), set);
    }
    *bp_cpu_tiles_emulated_setting() = 0;
}
#endif
