// Weights in blocks: what is written is what the format's definition decodes, next to the numbers, and no further from them than ggml's own are.
#include "formats/quantise.hpp"

#include <cmath>
#include <random>

#include "backplane/ops/blocks.hpp"
#include "graph/element_types.hpp"
#include "support.hpp"
#ifdef BP_GGML_STOCK
#include <dlfcn.h>
#endif

namespace backplane {
namespace {

using formats::quantise;
using graph::decode;
using Numbers = std::vector<double>;

struct Bounded {
    DType type;
    int ggml;      // its number of the type
    double error;  // of normal numbers: the root of mean squares, of theirs
};
constexpr Bounded kAll[] = {{DType::q8_0, 8, 0.0056}, {DType::q6_k, 14, 0.018}, {DType::q5_k, 13, 0.036},
                            {DType::q5_0, 6, 0.042},  {DType::q4_k, 12, 0.072}, {DType::q4_0, 2, 0.085}};

double error_of_blocks(const std::vector<std::byte>& blocks, DType type, const Numbers& values) {
    const Numbers back = decode(blocks, type);
    EXPECT_EQ(back.size(), values.size());
    double off = 0, all = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        off += (back[i] - values[i]) * (back[i] - values[i]);
        all += values[i] * values[i];
    }
    return std::sqrt(off / all);
}

// Weights as networks have them, and what is harder: few that are large, many that are alike, and those that all lie to one side.
Numbers numbers_like(const std::string& what, size_t blocks) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal(0, 0.02);
    Numbers all(256 * blocks);
    for (size_t i = 0; i < all.size(); ++i) {
        all[i] = static_cast<float>(normal(random));
        if (what == "outliers" && i % 97 == 0) all[i] *= 20;
        if (what == "flat") all[i] = static_cast<float>(std::clamp(all[i] * 1000, -0.02, 0.02));
        if (what == "aside") all[i] = static_cast<float>(0.05 + all[i] / 4);
        if (what == "heavy") all[i] = static_cast<float>(all[i] * std::fabs(all[i]) * 50);
    }
    return all;
}
constexpr const char* kKinds[] = {"normal", "outliers", "flat", "aside", "heavy"};

TEST(Quantise, NumbersComeBackAsNearAsTheTypeHolds) {
    for (const Bounded& b : kAll)
        EXPECT_LE(error_of_blocks(quantise(numbers_like("normal", 40), b.type), b.type, numbers_like("normal", 40)), b.error)
            << name_of(b.type);
}

// Each number is next to its own place: nothing is swapped, shifted or given another group's scale.
TEST(Quantise, EveryPlaceOfABlockHoldsItsOwnNumber) {
    for (const Bounded& b : kAll)
        for (size_t at = 0; at < 256; ++at) {
            Numbers values(256);
            values[at] = at % 2 == 0 ? 1 : -1;
            const Numbers back = decode(quantise(values, b.type), b.type);
            for (size_t i = 0; i < back.size(); ++i)
                EXPECT_NEAR(back[i], values[i], 0.04) << name_of(b.type) << " " << at << " " << i;
        }
}

TEST(Quantise, BlocksThatHaveTheDigitsForNumbersHoldThemExactly) {
    for (const auto& [type, digits] : {std::pair{DType::q5_0, 32}, std::pair{DType::q4_0, 16}}) {
        Numbers values(512);
        for (size_t i = 0; i < values.size(); ++i)
            values[i] = (static_cast<double>(i * 7 % static_cast<size_t>(digits)) - digits / 2) / 16;
        EXPECT_EQ(decode(quantise(values, type), type), values) << name_of(type);
    }
}

TEST(Quantise, WhatIsZeroTinyHugeOrConstantIsHeld) {
    for (const Bounded& b : kAll) {
        for (const double value : {0.0, 1.0, -1.0, 3e4, -3e4}) {
            const Numbers back = decode(quantise(Numbers(256, value), b.type), b.type);
            for (const double x : back) ASSERT_NEAR(x, value, std::fabs(value) * 0.01) << name_of(b.type);
        }
        for (const double value : {1e-12, -1e-40, 1e-300})
            for (const double x : decode(quantise(Numbers(256, value), b.type), b.type))
                ASSERT_NEAR(x, 0, 1e-7) << name_of(b.type);
    }
}

TEST(Quantise, WhatIsNoWholeBlockNoNumberOrNoSuchTypeIsRefused) {
    for (const Bounded& b : kAll) {
        EXPECT_TRUE(formats::can_quantise(b.type));
        EXPECT_TRUE(quantise({}, b.type).empty());
        expect_error([&] { quantise(Numbers(255), b.type); }, Code::invalid, "no multiple of");
        Numbers bad(256);
        bad[200] = std::numeric_limits<double>::quiet_NaN();
        expect_error([&] { quantise(bad, b.type); }, Code::invalid, "finite");
    }
    for (const DType other : {DType::f16, DType::q2_k, DType::iq4_nl}) {
        EXPECT_FALSE(formats::can_quantise(other));
        expect_error([&] { quantise(Numbers(256), other); }, Code::invalid, name_of(other));
    }
}

#ifdef BP_GGML_STOCK
TEST(Quantise, IsNoFurtherFromTheNumbersThanGgmlsOwn) {
    const std::string path = std::string(BP_GGML_STOCK) + "/libggml-base.so";
    if (!std::filesystem::exists(path))
        GTEST_SKIP() << "no ggml at " << path << ": scripts/fetch-ggml.sh could not, or did not, fetch it from npm";
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    using Chunk = size_t (*)(int, const float*, void*, int64_t, int64_t, int64_t, const float*);
    const auto chunk = reinterpret_cast<Chunk>(dlsym(library, "ggml_quantize_chunk"));
    ASSERT_NE(chunk, nullptr);
    for (const char* const kind : kKinds)
        for (const Bounded& b : kAll) {
            const Numbers values = numbers_like(kind, 40);
            const std::vector<float> floats(values.begin(), values.end());
            const std::vector<std::byte> ours = quantise(values, b.type);
            std::vector<std::byte> theirs(ours.size());
            ASSERT_EQ(chunk(b.ggml, floats.data(), theirs.data(), 0, 40, 256, nullptr), ours.size());
            const double near = error_of_blocks(ours, b.type, values), far = error_of_blocks(theirs, b.type, values);
            // What is a matter of how factors round to f16 is no matter.
            EXPECT_LE(near, far * 1.001 + 1e-3) << kind << " " << name_of(b.type);
            RecordProperty(std::string(kind) + "_" + name_of(b.type), std::to_string(near / far));
        }
}
#endif

}  // namespace
}  // namespace backplane
