// Blocks that ggml's quantizers wrote, and the numbers that ggml reads in them (blocks_by_ggml/TYPE.bin, which tests/ggml/blocks_test.cpp made).
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "backplane/ops/blocks.hpp"
#include "graph/element_types.hpp"

namespace backplane::graph {
namespace {

TEST(BlocksByGgml, StandForTheNumbersThatGgmlReadsInThem) {
    constexpr size_t kNumbers = 256;
    for (const DType dtype : {DType::q8_0, DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q2_k, DType::q3_k,
                              DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_nl, DType::iq4_xs, DType::q8_k}) {
        const auto file = std::filesystem::path(BP_BLOCKS_BY_GGML) / (std::string(name_of(dtype)) + ".bin");
        std::ifstream in(file, std::ios::binary);
        const std::vector<char> read{std::istreambuf_iterator<char>(in), {}};
        const auto size = static_cast<size_t>(bytes(dtype, {kNumbers}));
        ASSERT_EQ(read.size(), size + kNumbers * sizeof(float)) << file;
        std::vector<float> wanted(kNumbers), got(kNumbers);
        std::memcpy(wanted.data(), read.data() + size, kNumbers * sizeof(float));
        const auto raw = std::as_bytes(std::span(read)).first(size);
        const auto count = static_cast<int64_t>(kNumbers) / blocks::facts_of(static_cast<uint32_t>(dtype)).elements;
        blocks::decode(static_cast<uint32_t>(dtype), raw.data(), count,
                       static_cast<uint32_t>(size / static_cast<size_t>(count)), got.data());
        EXPECT_EQ(std::memcmp(got.data(), wanted.data(), kNumbers * sizeof(float)), 0) << name_of(dtype);
        const std::vector<double> exact = decode(raw, dtype);
        for (size_t i = 0; i < kNumbers; ++i)
            EXPECT_EQ(static_cast<float>(exact[i]), wanted[i]) << name_of(dtype) << " " << i;
    }
}

}  // namespace
}  // namespace backplane::graph
