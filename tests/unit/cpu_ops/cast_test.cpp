#include "run_op.hpp"

using namespace harness;

class Casts : public PerLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, Casts, testing::ValuesIn(masks()));

namespace {

template <typename To, typename From>
std::vector<To> cast(const Options& options, const std::vector<From>& x, uint32_t from, uint32_t to) {
    const auto n = static_cast<int64_t>(x.size());
    return run_op<To>(options, BP_OP_cast, {operand({n}, x, from)}, {n}, {integer(BP_ATTR_to, to)}, to);
}

double value_of_half(uint16_t h) {
    const int exponent = h >> 10 & 31;
    const int mantissa = h & 1023;
    const double sign = (h & 0x8000) != 0 ? -1 : 1;
    if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
    return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

}  // namespace

TEST_P(Casts, EveryHalfSurvivesTheWayToFloatAndBack) {
    std::vector<uint16_t> halves(65536);
    for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
    const Floats wide = cast<float>(options(), halves, BP_F16, BP_F32);
    const auto back = cast<uint16_t>(options(), wide, BP_F32, BP_F16);
    for (size_t i = 0; i < halves.size(); ++i) {
        ASSERT_TRUE(same(wide[i], value_of_half(halves[i]), 0, 0)) << i;
        if (std::isnan(wide[i])) {
            ASSERT_TRUE(std::isnan(value_of_half(back[i]))) << i;
        } else {
            ASSERT_EQ(back[i], halves[i]);
        }
    }
}

TEST_P(Casts, FloatsRoundToTheNearestHalfTiesToEven) {
    // Between each pair of neighbours: just below, at, and just above the middle.
    Floats x;
    std::vector<uint16_t> want;
    for (uint16_t h = 0; h < 0x7c00; ++h) {
        const double middle = h == 0x7bff ? 65520.0 : (value_of_half(h) + value_of_half(static_cast<uint16_t>(h + 1))) / 2;
        const auto m = static_cast<float>(middle);
        x.insert(x.end(), {std::nextafter(m, 0.0f), m, std::nextafter(m, kInfinity)});
        want.insert(want.end(), {h, static_cast<uint16_t>(h + (h & 1)), static_cast<uint16_t>(h + 1)});
    }
    EXPECT_EQ(cast<uint16_t>(options(), x, BP_F32, BP_F16), want);
    const std::vector<double> wide = {std::ldexp(1.0, -24) * (1.5 + 1e-12), 1.0 + std::ldexp(1.0, -11) + 1e-15, 1e300,
                                      -1e-300};
    EXPECT_EQ(cast<uint16_t>(options(), wide, BP_F64, BP_F16), (std::vector<uint16_t>{2, 0x3c01, 0x7c00, 0x8000}));
}

TEST_P(Casts, BfloatRoundsToEvenAndKeepsNaN) {
    const Floats x = {1.0f, 1.00390625f, 1.01171875f, kInfinity, -kInfinity, 3.4e38f, kNaN, -0.0f};
    const auto got = cast<uint16_t>(options(), x, BP_F32, BP_BF16);
    EXPECT_EQ((std::vector<uint16_t>(got.begin(), got.begin() + 6)),
              (std::vector<uint16_t>{0x3f80, 0x3f80, 0x3f82, 0x7f80, 0xff80, 0x7f80}));
    EXPECT_TRUE(std::isnan(cast<float>(options(), got, BP_BF16, BP_F32)[6]));
    EXPECT_EQ(got[7], 0x8000);
}

TEST_P(Casts, FloatToIntegerTruncatesAndSaturatesAndNaNIsZero) {
    const Floats x = {1.9f, -1.9f, 300.0f, -300.0f, kNaN, kInfinity, -kInfinity, 2147483648.0f};
    EXPECT_EQ(cast<uint8_t>(options(), x, BP_F32, BP_U8), (std::vector<uint8_t>{1, 0, 255, 0, 0, 255, 0, 255}));
    EXPECT_EQ(cast<int8_t>(options(), x, BP_F32, BP_I8), (std::vector<int8_t>{1, -1, 127, -128, 0, 127, -128, 127}));
    EXPECT_EQ(cast<int32_t>(options(), x, BP_F32, BP_I32)[7], INT32_MAX);
    EXPECT_EQ(cast<int64_t>(options(), x, BP_F32, BP_I64)[5], INT64_MAX);
    EXPECT_EQ(cast<int64_t>(options(), x, BP_F32, BP_I64)[6], INT64_MIN);
    EXPECT_EQ(cast<uint8_t>(options(), Floats{0.0f, 0.25f, -3.0f}, BP_F32, BP_BOOL), (std::vector<uint8_t>{0, 1, 1}));
    EXPECT_EQ(cast<float>(options(), std::vector<int64_t>{-3, 1 << 20}, BP_I64, BP_F32), (Floats{-3.0f, 1048576.0f}));
}

TEST_P(Casts, BlocksAreDecoded) {
    std::vector<std::byte> q8(34 * 3), q4(18 * 3);
    for (int b = 0; b < 3; ++b) {
        const uint16_t half = 0x3800;  // 0.5
        std::memcpy(&q8[static_cast<size_t>(b * 34)], &half, 2);
        std::memcpy(&q4[static_cast<size_t>(b * 18)], &half, 2);
        for (int j = 0; j < 32; ++j) q8[static_cast<size_t>(b * 34 + 2 + j)] = static_cast<std::byte>(j - 20);
        for (int j = 0; j < 16; ++j) q4[static_cast<size_t>(b * 18 + 2 + j)] = static_cast<std::byte>(j | (15 - j) << 4);
    }
    const Floats eight = run_op(options(), BP_OP_cast, {{{3, 32}, q8, BP_Q8_0}}, {3, 32}, {integer(BP_ATTR_to, BP_F32)});
    const Floats four = run_op(options(), BP_OP_cast, {{{3, 32}, q4, BP_Q4_0}}, {3, 32}, {integer(BP_ATTR_to, BP_F32)});
    for (int i = 0; i < 96; ++i) {
        const int j = i % 32;
        EXPECT_EQ(eight[static_cast<size_t>(i)], 0.5f * static_cast<float>(j - 20));
        EXPECT_EQ(four[static_cast<size_t>(i)], 0.5f * static_cast<float>((j < 16 ? j : 31 - j) - 8));
    }
    const auto halves =
        run_op<uint16_t>(options(), BP_OP_cast, {{{3, 32}, q8, BP_Q8_0}}, {3, 32}, {integer(BP_ATTR_to, BP_F16)}, BP_F16);
    EXPECT_EQ(value_of_half(halves[95]), 5.5);
}
