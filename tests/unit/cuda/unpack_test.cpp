// Texts of kernels come out of what the build packed as they went in; damaged ones are refused or come out wrong, and nothing else happens.
#include "unpack.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "backplane/sdk.hpp"

namespace backplane::cuda {
namespace {

constexpr size_t kMost = size_t{1} << 20;

std::string read(const std::string& name) {
    std::ifstream in(std::string(BP_PACKED_FILES) + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::span<const unsigned char> bytes_of(const std::string& text) {
    return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

TEST(Unpack, ATextComesOutAsItWentIn) {
    const std::string packed = read("testing.md.xz"), text = read("testing.md");
    ASSERT_GT(text.size(), 10000U);
    EXPECT_LT(packed.size(), text.size());
    EXPECT_EQ(unpacked(bytes_of(packed), kMost), text);
}

TEST(Unpack, BytesThatDoNotPackComeOutAsTheyWentIn) {
    const std::string text = read("before-after.jpg");
    ASSERT_GT(text.size(), 65536U);
    EXPECT_TRUE(unpacked(bytes_of(read("before-after.jpg.xz")), kMost) == text);
}

TEST(Unpack, WhatIsCutShortOrLongerThanAllowedIsRefused) {
    const std::string packed = read("testing.md.xz"), text = read("testing.md");
    for (size_t size = 0; size + 64 < packed.size(); size += size < 64 ? 1 : 97)
        EXPECT_THROW(unpacked(bytes_of(packed).first(size), kMost), sdk::Failure) << size;
    EXPECT_THROW(unpacked(bytes_of(packed), text.size() - 1), sdk::Failure);
    EXPECT_EQ(unpacked(bytes_of(packed), text.size()), text);
}

TEST(Unpack, DamagedBytesDoNoHarm) {
    const std::string packed = read("testing.md.xz");
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
        std::string damaged = packed;
        for (int flips = 0; flips <= i % 4; ++flips)
            damaged[random() % (i < 150 ? 64 : damaged.size())] ^= 1 << random() % 8;
        try {
            EXPECT_LE(unpacked(bytes_of(damaged), kMost).size(), kMost);
        } catch (const sdk::Failure& failure) {
            EXPECT_EQ(failure.code(), BP_INTERNAL);
        }
    }
}

}  // namespace
}  // namespace backplane::cuda
