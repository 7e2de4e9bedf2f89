// Bytes to numbers and back, for every element type.
#include "graph/element_types.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "backplane/ops/blocks.hpp"
#include "graphs.hpp"

namespace backplane {
namespace {

using graph::decode;
using graph::encode;
using graph::round_to;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

TEST(ElementTypes, BytesThatAreNoWholeElementsAreRefused) {
    const std::vector<std::byte> three(3);
    EXPECT_NE(error_of([&] { decode(three, DType::f32); }).find("multiple of 4"), std::string::npos);
    error_of([&] { decode(three, DType::q8_0); });
    error_of([&] { decode(three, DType::unknown); });
    error_of([&] { encode(std::vector<double>(33), DType::q4_0); });
    error_of([&] { encode(std::vector<double>(1), DType::unknown); });
    EXPECT_EQ(round_to(0.3, DType::q8_0), 0.3);
}

TEST(ElementTypes, EveryF16RoundTrips) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        const double value = graph::f16_to_double(static_cast<uint16_t>(bits));
        const uint16_t back = graph::f16_from_double(value);
        if ((bits & 0x7FFF) > 0x7C00) {
            ASSERT_TRUE(std::isnan(value)) << bits;
            ASSERT_GT(back & 0x7FFF, 0x7C00) << bits;
        } else {
            ASSERT_EQ(back, bits);
        }
    }
}

TEST(ElementTypes, EveryBf16RoundTripsAndIsTheTopOfAFloat) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        const double value = graph::bf16_to_double(static_cast<uint16_t>(bits));
        const uint32_t wide = bits << 16;
        float single = 0;
        std::memcpy(&single, &wide, sizeof single);
        if (std::isnan(single)) {
            ASSERT_TRUE(std::isnan(value)) << bits;
            ASSERT_GT(graph::bf16_from_double(value) & 0x7FFF, 0x7F80) << bits;
        } else {
            ASSERT_EQ(value, static_cast<double>(single)) << bits;
            ASSERT_EQ(graph::bf16_from_double(value), bits);
        }
    }
}

// Between each pair of neighbours: just below the middle down, just above it up, the middle to the even one.
TEST(ElementTypes, F16RoundsToNearestEvenEverywhere) {
    for (uint32_t bits = 0; bits < 0x7BFF; ++bits) {
        const double low = graph::f16_to_double(static_cast<uint16_t>(bits));
        const double high = graph::f16_to_double(static_cast<uint16_t>(bits + 1));
        const double middle = (low + high) / 2;
        ASSERT_EQ(graph::f16_from_double(middle), bits % 2 == 0 ? bits : bits + 1);
        ASSERT_EQ(graph::f16_from_double(std::nextafter(middle, 0)), bits);
        ASSERT_EQ(graph::f16_from_double(std::nextafter(middle, kInfinity)), bits + 1);
    }
    EXPECT_EQ(graph::f16_from_double(65519.99), 0x7BFF);
    EXPECT_EQ(graph::f16_from_double(65520), 0x7C00);
    EXPECT_EQ(graph::f16_from_double(-1e300), 0xFC00);
    EXPECT_EQ(graph::f16_from_double(std::ldexp(1, -25)), 0) << "a tie between 0 and the smallest subnormal";
    EXPECT_EQ(graph::f16_from_double(-1e-300), 0x8000);
}

// Of each exponent and sign all upper bits, and lower ones around ties.
TEST(ElementTypes, FloatsBecomeF16AsDoublesDo) {
    std::vector<float> values;
    for (uint32_t upper = 0; upper < 0x80000; ++upper)
        for (const uint32_t lower : {0U, 1U, 0xFFFU, 0x1000U, 0x1001U, 0x1FFFU})
            values.push_back(std::bit_cast<float>(upper << 13 | lower));
    std::vector<uint16_t> halves(values.size());
    graph::f16_from_floats(values, halves.data());
    for (size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(halves[i], graph::f16_from_double(values[i])) << std::hexfloat << values[i];
}

TEST(ElementTypes, IntegersTruncateSaturateAndTakeNaNAsZero) {
    EXPECT_EQ(round_to(-1.9, DType::i8), -1);
    EXPECT_EQ(round_to(300, DType::u8), 255);
    EXPECT_EQ(round_to(-1, DType::u16), 0);
    EXPECT_EQ(round_to(-40000, DType::i16), -32768);
    EXPECT_EQ(round_to(kNaN, DType::i32), 0);
    EXPECT_EQ(round_to(kInfinity, DType::i32), 2147483647);
    const std::vector<std::byte> most = encode(std::vector<double>{1e30}, DType::i64);
    int64_t value = 0;
    std::memcpy(&value, most.data(), sizeof value);
    EXPECT_EQ(value, INT64_MAX);
    EXPECT_EQ(round_to(kNaN, DType::boolean), 1);
    EXPECT_EQ(round_to(-0.0, DType::boolean), 0);
}

TEST(ElementTypes, PlainTypesRoundTripTheirRange) {
    for (const DType dtype :
         {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8, DType::i16, DType::i32, DType::i64}) {
        const std::vector<double> values{-128, -1, 0, 1, 64, 127};
        EXPECT_EQ(decode(encode(values, dtype), dtype), values) << name_of(dtype);
    }
    for (const DType dtype : {DType::u8, DType::u16}) {
        const std::vector<double> values{0, 1, 127, 255};
        EXPECT_EQ(decode(encode(values, dtype), dtype), values) << name_of(dtype);
    }
    EXPECT_TRUE(decode({}, DType::q4_0).empty());
}

TEST(ElementTypes, Q8BlocksAreAnF16ScaleAnd32SignedBytes) {
    std::vector<std::byte> block(34);
    const uint16_t half = graph::f16_from_double(0.5);
    std::memcpy(block.data(), &half, 2);
    for (int i = 0; i < 32; ++i)
        block[2 + static_cast<size_t>(i)] = static_cast<std::byte>(static_cast<int8_t>(i * 8 - 128));
    const std::vector<double> values = decode(block, DType::q8_0);
    ASSERT_EQ(values.size(), 32U);
    EXPECT_EQ(values[0], -64);
    EXPECT_EQ(values[16], 0);
    EXPECT_EQ(values[31], 60);
}

TEST(ElementTypes, Q4LowNibblesAreTheFirstHalf) {
    std::vector<std::byte> block(18);
    const uint16_t two = graph::f16_from_double(2);
    std::memcpy(block.data(), &two, 2);
    for (uint8_t i = 0; i < 16; ++i) block[2 + i] = static_cast<std::byte>(i | (15 - i) << 4);
    const std::vector<double> values = decode(block, DType::q4_0);
    EXPECT_EQ(values[0], -16);
    EXPECT_EQ(values[15], 14);
    EXPECT_EQ(values[16], 14);
    EXPECT_EQ(values[31], -16);
}

// Bytes of a block, zero but for these, and elements that follow by the format's definition.
struct HandMade {
    DType dtype;
    std::vector<std::pair<size_t, int>> bytes;
    std::vector<std::pair<size_t, double>> elements;
};

// Factors of 1 (00 3C) and 2 (00 40) at their places; whole numbers, so that a digit in the wrong place shows.
TEST(ElementTypes, BlocksOfEachTypeDecodeAsComputedByHand) {
    const HandMade blocks[] = {
        {DType::q4_1, {{1, 0x3C}, {3, 0x40}, {4, 0xA3}, {19, 0x0F}}, {{0, 5}, {16, 12}, {15, 17}, {31, 2}, {1, 2}}},
        {DType::q5_0,
         {{1, 0x3C}, {2, 0x01}, {4, 0x02}, {6, 0xA3}, {7, 0x5F}},
         {{0, 3}, {16, -6}, {1, -1}, {17, 5}, {2, -16}}},
        {DType::q5_1,
         {{1, 0x3C}, {3, 0xC0}, {4, 0x01}, {6, 0x02}, {8, 0xA3}, {9, 0x5F}},
         {{0, 17}, {16, 8}, {1, 13}, {17, 19}, {2, -2}}},
        {DType::iq4_nl, {{1, 0x40}, {2, 0xF0}, {17, 0x87}}, {{0, -254}, {16, 226}, {15, -20}, {31, 2}}},
        {DType::iq4_xs,
         {{1, 0x40}, {2, 0x01}, {4, 0x53}, {7, 0xF0}, {3, 0xC0}, {8, 0xF0}, {23, 0x87}, {24, 0x08}, {135, 0xF0}},
         {{0, 3302}, {16, -2938}, {15, 260}, {31, -26}, {32, -54}, {239, -7874}, {255, 7006}}},
        {DType::q8_k, {{2, 0x20}, {3, 0x41}, {4, 0x7F}, {5, 0x80}, {259, 0x03}}, {{0, 1270}, {1, -1280}, {2, 0}, {255, 30}}},
        {DType::q2_k,
         {{81, 0x3C}, {83, 0x40}, {0, 0x13}, {1, 0x25}, {2, 0x07}, {15, 0xF1}, {16, 0xE4}, {47, 0x03}, {79, 0xC0}},
         {{0, -2}, {32, 7}, {64, 0}, {31, 11}, {255, -27}, {254, -30}}},
        {DType::q3_k,
         {{109, 0x3C}, {96, 0x35}, {100, 0x70}, {104, 0x92}, {0, 0x11}, {32, 0x02}, {64, 0x03}},
         {{0, 10}, {1, -20}, {64, 128}, {128, -39}, {192, -28}}},
        {DType::q4_k,
         {{1, 0x3C}, {3, 0x40}, {4, 0x83}, {5, 0x01}, {8, 0x45}, {12, 0x97}, {16, 0xB2}, {80, 0x0C}},
         {{0, -4}, {32, 11}, {128, 418}, {129, -50}, {96, 0}}},
        {DType::q5_k,
         {{1, 0x3C}, {3, 0x40}, {4, 0x83}, {5, 0x01}, {8, 0x45}, {12, 0x97}, {16, 0x11}, {48, 0xB2}, {112, 0x0C}},
         {{0, 44}, {32, 11}, {128, 1042}, {129, -50}, {96, 0}}},
        {DType::q6_k,
         {{209, 0x3C},
          {192, 0xFE},
          {193, 0x03},
          {194, 0x80},
          {196, 0x01},
          {207, 0x7F},
          {0, 0x5A},
          {127, 0xF0},
          {128, 0xE4},
          {191, 0xC0}},
         {{0, 44}, {32, 2048}, {64, 5}, {16, -96}, {255, 3937}}},
    };
    for (const HandMade& made : blocks) {
        const backplane::blocks::Facts facts = backplane::blocks::facts_of(static_cast<uint32_t>(made.dtype));
        std::vector<std::byte> bytes(backplane::bytes(made.dtype, {facts.elements}));
        for (const auto& [at, value] : made.bytes) bytes.at(at) = static_cast<std::byte>(value);
        const std::vector<double> values = decode(bytes, made.dtype);
        ASSERT_EQ(values.size(), static_cast<size_t>(facts.elements)) << name_of(made.dtype);
        for (const auto& [at, value] : made.elements) EXPECT_EQ(values.at(at), value) << name_of(made.dtype) << " " << at;
    }
}

TEST(ElementTypes, BlocksInFloat32AreTheExactNumbersRoundedOnce) {
    uint32_t state = 1;
    const auto next = [&] { return (state = state * 1664525 + 1013904223) / 4294967296.0; };
    for (uint32_t type = BP_Q8_0; type <= BP_Q8_K; ++type)
        for (const double most : {1e-3, 3.0, 1e9}) {
            const auto dtype = static_cast<DType>(type);
            const std::vector<std::byte> bytes = graph::random_blocks(dtype, 256 * 20, most, next);
            const std::vector<double> exact = decode(bytes, dtype);
            std::vector<float> floats(exact.size());
            const auto blocks = static_cast<int64_t>(exact.size()) / backplane::blocks::facts_of(type).elements;
            backplane::blocks::decode(type, bytes.data(), blocks,
                                      static_cast<uint32_t>(bytes.size()) / static_cast<uint32_t>(blocks), floats.data());
            ASSERT_EQ(exact.size(), 256U * 20);
            for (size_t i = 0; i < exact.size(); ++i)
                ASSERT_EQ(floats[i], static_cast<float>(exact[i])) << name_of(dtype) << " " << i;
        }
}

TEST(ElementTypes, TypesWithoutAnEncodingSaySo) {
    EXPECT_FALSE(graph::has_encoding(DType::q4_k));
    EXPECT_NE(error_of([&] { encode(std::vector<double>(256), DType::q4_k); }, Code::unsupported).find("q8_0 and q4_0 only"),
              std::string::npos);
    error_of([&] { static_cast<void>(graph::random_blocks(DType::f32, 1, 1, [] { return 0.0; })); });
}

TEST(ElementTypes, BlocksEncodeWithinHalfAStep) {
    std::vector<double> values(64);
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i)) * (i < 32 ? 3.0 : 1e-3);
    for (const auto& [dtype, steps] : {std::pair{DType::q8_0, 127.0}, std::pair{DType::q4_0, 8.0}}) {
        const std::vector<double> back = decode(encode(values, dtype), dtype);
        for (size_t b = 0; b < 2; ++b) {
            double most = 0;
            for (size_t i = 0; i < 32; ++i) most = std::max(most, std::fabs(values[b * 32 + i]));
            // q4_0 reaches 7 steps on one side only, so a value may be a whole step off there. The scale itself has 11 bits.
            const double bound = most / steps * (dtype == DType::q4_0 ? 1.01 : 0.6);
            for (size_t i = b * 32; i < b * 32 + 32; ++i)
                EXPECT_NEAR(back[i], values[i], bound) << name_of(dtype) << " " << i;
        }
    }
    const std::vector<double> zeros(32);
    EXPECT_EQ(decode(encode(zeros, DType::q8_0), DType::q8_0), zeros);
    EXPECT_EQ(decode(encode(zeros, DType::q4_0), DType::q4_0), zeros);
}

TEST(ElementTypes, NamesRoundTripAndUnknownOnesAreUnknown) {
    for (uint32_t i = BP_F32; i <= BP_Q8_K; ++i)
        EXPECT_EQ(dtype_from_name(name_of(static_cast<DType>(i))), static_cast<DType>(i));
    EXPECT_EQ(dtype_from_name("f8"), DType::unknown);
    EXPECT_EQ(dtype_from_name("unknown"), DType::unknown);
    EXPECT_STREQ(name_of(static_cast<DType>(9999)), "unknown");
}

}  // namespace
}  // namespace backplane
