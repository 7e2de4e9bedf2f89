// Bytes to numbers and back, for every element type.
#include "graph/element_types.hpp"

#include <cmath>
#include <cstring>
#include <limits>

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
    error_of([&] { round_to(1, DType::q8_0); });
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
    for (uint32_t i = BP_F32; i <= BP_Q4_0; ++i)
        EXPECT_EQ(dtype_from_name(name_of(static_cast<DType>(i))), static_cast<DType>(i));
    EXPECT_EQ(dtype_from_name("f8"), DType::unknown);
    EXPECT_EQ(dtype_from_name("unknown"), DType::unknown);
    EXPECT_STREQ(name_of(static_cast<DType>(9999)), "unknown");
}

}  // namespace
}  // namespace backplane
