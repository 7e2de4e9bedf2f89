// Block types against ggml, which defined them: what its quantizers wrote, and blocks of any bytes, stand for the same numbers here, bit for bit.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "backplane/ops/blocks.hpp"

namespace {

namespace blocks = backplane::blocks;

struct Type {
    const char* name;
    uint32_t dtype;
    int32_t number;  // ggml's
    uint32_t bytes;  // of a block
};
constexpr Type kTypes[] = {{"q8_0", BP_Q8_0, 8, 34},   {"q4_0", BP_Q4_0, 2, 18},      {"q4_1", BP_Q4_1, 3, 20},
                           {"q5_0", BP_Q5_0, 6, 22},   {"q5_1", BP_Q5_1, 7, 24},      {"q2_k", BP_Q2_K, 10, 84},
                           {"q3_k", BP_Q3_K, 11, 110}, {"q4_k", BP_Q4_K, 12, 144},    {"q5_k", BP_Q5_K, 13, 176},
                           {"q6_k", BP_Q6_K, 14, 210}, {"iq4_nl", BP_IQ4_NL, 20, 18}, {"iq4_xs", BP_IQ4_XS, 23, 136},
                           {"q8_k", BP_Q8_K, 15, 292}};
void PrintTo(const Type& type, std::ostream* out) { *out << type.name; }

// As ggml 0.25.1 lays it out.
struct Traits {
    const char* name;
    int64_t block, interleaved;
    size_t bytes;
    bool quantized;
    void (*to_float)(const void*, float*, int64_t);
    void (*from_float)(const float*, void*, int64_t);
};

class BlocksOfGgml : public testing::TestWithParam<Type> {
protected:
    void SetUp() override {
        const std::filesystem::path file = std::filesystem::path(BP_GGML_STOCK) / "libggml-base.so";
        if (!std::filesystem::exists(file))
            GTEST_SKIP() << "no stock ggml in " << BP_GGML_STOCK << ": run scripts/fetch-ggml.sh";
        void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(library, nullptr) << dlerror();
        const auto traits_of = reinterpret_cast<const Traits* (*)(int32_t)>(dlsym(library, "ggml_get_type_traits"));
        quantize_ = reinterpret_cast<Quantize>(dlsym(library, "ggml_quantize_chunk"));
        ASSERT_TRUE(traits_of != nullptr && quantize_ != nullptr);
        if (GetParam().dtype == BP_Q8_K) {  // for what ggml multiplies by: no entry of its tables leads to these
            read_q8_k_ = reinterpret_cast<Read>(dlsym(library, "dequantize_row_q8_K"));
            write_q8_k_ = reinterpret_cast<Write>(dlsym(library, "quantize_row_q8_K_ref"));
            ASSERT_TRUE(read_q8_k_ != nullptr && write_q8_k_ != nullptr);
        }
        traits_ = traits_of(GetParam().number);
        ASSERT_EQ(traits_->block, blocks::facts_of(GetParam().dtype).elements) << traits_->name;
        ASSERT_EQ(traits_->bytes, GetParam().bytes) << traits_->name;
    }
    [[nodiscard]] std::vector<float> by_ggml(const std::vector<std::byte>& from) const {
        std::vector<float> to(from.size() / traits_->bytes * static_cast<size_t>(traits_->block));
        (read_q8_k_ != nullptr ? read_q8_k_ : traits_->to_float)(from.data(), to.data(), static_cast<int64_t>(to.size()));
        return to;
    }
    template <typename T>
    [[nodiscard]] std::vector<T> here(const std::vector<std::byte>& from) const {
        std::vector<T> to(from.size() / traits_->bytes * static_cast<size_t>(traits_->block));
        blocks::decode(GetParam().dtype, from.data(), static_cast<int64_t>(from.size() / traits_->bytes), GetParam().bytes,
                       to.data());
        return to;
    }
    void expect_the_same(const std::vector<std::byte>& from) const {
        const std::vector<float> wanted = by_ggml(from), got = here<float>(from);
        const std::vector<double> exact = here<double>(from);
        ASSERT_EQ(got.size(), wanted.size());
        for (size_t i = 0; i < wanted.size(); ++i) {
            if (std::bit_cast<uint32_t>(got[i]) != std::bit_cast<uint32_t>(wanted[i]))
                FAIL() << i << " is " << got[i] << ", ggml says " << wanted[i];
            if (static_cast<float>(exact[i]) != wanted[i])
                FAIL() << i << " is " << exact[i] << " in float64, ggml says " << wanted[i];
        }
    }
    [[nodiscard]] std::vector<std::byte> quantized(const std::vector<float>& rows, int64_t columns) const {
        std::vector<std::byte> to(rows.size() / static_cast<size_t>(traits_->block) * traits_->bytes);
        if (write_q8_k_ != nullptr) {
            write_q8_k_(rows.data(), to.data(), static_cast<int64_t>(rows.size()));
            return to;
        }
        const size_t written = quantize_(GetParam().number, rows.data(), to.data(), 0,
                                         static_cast<int64_t>(rows.size()) / columns, columns, nullptr);
        EXPECT_EQ(written, to.size());
        return to;
    }

    using Quantize = size_t (*)(int32_t, const float*, void*, int64_t, int64_t, int64_t, const float*);
    using Read = void (*)(const void*, float*, int64_t);
    using Write = void (*)(const float*, void*, int64_t);
    Quantize quantize_ = nullptr;
    Read read_q8_k_ = nullptr;
    Write write_q8_k_ = nullptr;
    const Traits* traits_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(All, BlocksOfGgml, testing::ValuesIn(kTypes), [](const auto& p) { return p.param.name; });

std::vector<float> rows_of(size_t count, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> rows(count);
    for (float& x : rows) x = normal(random);
    return rows;
}

TEST_P(BlocksOfGgml, ThatItsQuantizerWroteStandForTheSameNumbersHere) {
    std::vector<float> rows = rows_of(256 * 1024, 5);
    std::fill_n(rows.begin(), 256, 0.0F);
    std::fill_n(rows.begin() + 256, 256, -3.5F);
    for (size_t i = 512; i < 768; ++i) rows[i] *= 1e-6F;  // scales too small for the usual form of f16
    for (size_t i = 768; i < 1024; ++i) rows[i] *= 2e4F;
    const std::vector<std::byte> made = quantized(rows, 1024);
    expect_the_same(made);
    const std::vector<float> back = here<float>(made);
    double wrong = 0, all = 0;
    for (size_t i = 1024; i < rows.size(); ++i) wrong += std::pow(back[i] - rows[i], 2), all += std::pow(rows[i], 2);
    EXPECT_LT(std::sqrt(wrong / all), 0.35) << "they are the numbers that it was given, nearly";
    if (std::getenv("BACKPLANE_WRITE") == nullptr) return;
    // The fixture of tests/unit/graph: blocks, then the numbers that ggml reads in them.
    const std::vector<std::byte> some(made.begin() + static_cast<ptrdiff_t>(1024 / traits_->block * GetParam().bytes),
                                      made.begin() + static_cast<ptrdiff_t>(1280 / traits_->block * GetParam().bytes));
    const std::vector<float> numbers = by_ggml(some);
    std::ofstream file(std::filesystem::path(BP_BLOCKS_BY_GGML) / (std::string(GetParam().name) + ".bin"), std::ios::binary);
    file.write(reinterpret_cast<const char*>(some.data()), static_cast<std::streamsize>(some.size()));
    file.write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(numbers.size() * sizeof(float)));
}

// 760,000 in all: digits and small scales of all bits, f16 factors of all finite ones, the ends often.
TEST_P(BlocksOfGgml, OfAnyBytesStandForTheSameNumbersHere) {
    constexpr size_t kAtOnce = 4000;
    constexpr uint16_t kEnds[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x3c00, 0xbc00};
    const blocks::Facts facts = blocks::facts_of(GetParam().dtype);
    std::mt19937 random(7);
    std::vector<std::byte> all(kAtOnce * GetParam().bytes);
    const int rounds = facts.elements > 32 ? 8 : 25;
    for (int round = 0; round < rounds && !HasFatalFailure(); ++round) {
        for (std::byte& b : all) b = static_cast<std::byte>(random());
        for (size_t i = 0; i < kAtOnce; ++i)
            for (const int at : {facts.scale, facts.least}) {
                if (at < 0) continue;
                if (GetParam().dtype == BP_Q8_K) {  // an f32
                    auto bits = static_cast<uint32_t>(random());
                    if ((bits & 0x7f800000) == 0x7f800000) bits &= 0x807fffff;
                    std::memcpy(all.data() + i * GetParam().bytes + static_cast<size_t>(at), &bits, sizeof bits);
                    continue;
                }
                auto factor = static_cast<uint16_t>(random());
                if ((factor & 0x7c00) == 0x7c00) factor = kEnds[random() % std::size(kEnds)];
                if (random() % 4 == 0) factor = kEnds[random() % std::size(kEnds)];
                std::memcpy(all.data() + i * GetParam().bytes + static_cast<size_t>(at), &factor, sizeof factor);
            }
        expect_the_same(all);
    }
}

}  // namespace
