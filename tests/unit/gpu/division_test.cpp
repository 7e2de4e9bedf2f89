// Quotients and roots of kernels in a language that promises them to a few units only, by one that is off by as many as the test says.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace backplane::gpu {
namespace {

using std::min;

#define FUNCTION
#define CAST(type, x) static_cast<type>(x)
#define AS_UINT(x) std::bit_cast<uint32_t>(x)
#define AS_FLOAT(x) std::bit_cast<float>(static_cast<uint32_t>(x))
#define TOP_BIT(x) (31 - std::countl_zero(x))
#define K_NAN std::numeric_limits<float>::quiet_NaN()
#define NEARLY_DIVIDED(a, b) nearly((a) / (b))
#define NEARLY_ROOT(x) nearly(std::sqrt(x))
struct Language {
    using uint = uint32_t;
    int off = 0;  // units of the last place
    [[nodiscard]] float nearly(float x) const { return AS_FLOAT(AS_UINT(x) + static_cast<uint32_t>(off)); }
#include "common/gpu/kernels/division.h"
};
#undef FUNCTION
#undef CAST
#undef AS_UINT
#undef AS_FLOAT
#undef TOP_BIT
#undef K_NAN
#undef NEARLY_DIVIDED
#undef NEARLY_ROOT

constexpr int kOff[] = {-30, -5, -2, -1, 0, 1, 2, 3, 30};

float of_bits(uint32_t bits) { return std::bit_cast<float>(bits); }
// Bits, as which zeros have signs, and every NaN alike.
uint32_t bits_of(float x) { return std::isnan(x) ? 0x7fc00000U : std::bit_cast<uint32_t>(x); }

std::vector<float> worst() {
    std::vector<float> all;
    for (const uint32_t bits : {0U,          1U,          2U,          3U,          0x007fffffU, 0x00800000U, 0x00800001U,
                                0x00ffffffU, 0x01000000U, 0x3effffffU, 0x3f000000U, 0x3f7fffffU, 0x3f800000U, 0x3f800001U,
                                0x3fffffffU, 0x40000000U, 0x40400000U, 0x437f0000U, 0x4b7fffffU, 0x7e800000U, 0x7effffffU,
                                0x7f000000U, 0x7f7fffffU, 0x7f800000U, 0x7fc00000U})
        for (const uint32_t sign : {0U, 0x80000000U}) all.push_back(of_bits(bits | sign));
    return all;
}

void expect_quotient(float x, float y) {
    for (const int off : kOff)
        ASSERT_EQ(bits_of(Language{off}.QUOTIENT(x, y)), bits_of(x / y)) << x << " / " << y << ", off by " << off;
}

TEST(ExactDivision, WorstQuotients) {
    for (const float x : worst())
        for (const float y : worst()) expect_quotient(x, y);
}

TEST(ExactDivision, QuotientsOfAnyBits) {
    std::mt19937 random(1);
    for (int i = 0; i < 20000; ++i)
        expect_quotient(of_bits(static_cast<uint32_t>(random())), of_bits(static_cast<uint32_t>(random())));
}

// Below the smallest normal number a quotient can be a tie.
TEST(ExactDivision, QuotientsBelowNormalNumbers) {
    std::mt19937 random(2);
    for (int i = 0; i < 20000; ++i) {
        const float y = std::ldexp(1.0F + static_cast<float>(random() % 16) / 16, static_cast<int>(random() % 64));
        const auto digits = static_cast<float>(random() % 4096 + 1);
        expect_quotient(std::ldexp(digits * y, -151 + static_cast<int>(random() % 3)), y);
        expect_quotient(std::ldexp(digits, -126), std::ldexp(y, static_cast<int>(random() % 30)));
    }
}

// What quantizing divides: halves, and their neighbours.
TEST(ExactDivision, QuotientsBesideHalves) {
    std::mt19937 random(3);
    for (int i = 0; i < 2000; ++i) {
        const float scale =
            std::ldexp(1.0F + static_cast<float>(random() % 8388608) / 8388608, -static_cast<int>(random() % 12));
        const float half = static_cast<float>(random() % 512) + 0.5F;
        for (const float far : {0.0F, half, -half})
            for (const float x : {half * scale, std::nextafter(half * scale, far)}) expect_quotient(x, scale);
    }
    expect_quotient(-2.5F, 5.0F / 255.0F);
}

TEST(ExactDivision, Roots) {
    std::mt19937 random(4);
    std::vector<float> all = worst();
    for (int i = 0; i < 40000; ++i) all.push_back(of_bits(static_cast<uint32_t>(random()) & 0x7fffffffU));
    for (int i = 1; i < 4096; ++i) {  // squares, and what is beside them
        const auto square = static_cast<float>(i * i);
        all.insert(all.end(), {square, std::nextafter(square, 0.0F), std::nextafter(square, 1e9F)});
    }
    for (const float x : all) {
        if (!(x > 0) || std::isinf(x)) continue;  // the kernel asks for the others itself
        for (const int off : kOff)
            ASSERT_EQ(bits_of(Language{off}.ROOT(x)), bits_of(std::sqrt(x))) << x << ", off by " << off;
    }
}

}  // namespace
}  // namespace backplane::gpu
