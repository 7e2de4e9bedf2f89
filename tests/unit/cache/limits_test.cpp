// Size: what goes first, and what is left by those who were killed.
#include "support.hpp"

namespace backplane::cache::testing {
namespace {

uint64_t bytes_in(const fs::path& folder) {
    uint64_t bytes = 0;
    for (const auto& file : fs::directory_iterator(folder)) bytes += file.file_size();
    return bytes;
}

TEST(KernelCacheLimit, ManyPutsStayWithinTheLimit) {
    const Folder folder;
    constexpr uint64_t kLimit = 100000;
    Cache cache(folder.path(), kLimit);
    for (int i = 0; i < 300; ++i) {
        cache.put("key " + std::to_string(i), value_of(3000, static_cast<unsigned>(i)));
        ASSERT_LE(bytes_in(folder.path()), kLimit);
    }
    EXPECT_GT(bytes_in(folder.path()), kLimit / 2) << "what fits is kept";
    EXPECT_EQ(cache.get("key 299"), value_of(3000, 299)) << "the newest is there";
    EXPECT_EQ(cache.get("key 0"), std::nullopt);
}

// Each object counts the folder when it puts for the first time, and again after a sixteenth of the limit.
TEST(KernelCacheLimit, SeveralWritersOverstepItByASixteenthEachAtMost) {
    const Folder folder;
    constexpr uint64_t kLimit = 200000;
    std::vector<std::unique_ptr<Cache>> caches;
    for (int i = 0; i < 4; ++i) caches.push_back(std::make_unique<Cache>(folder.path(), kLimit));
    for (unsigned i = 0; i < 400; ++i) {
        caches[i % 4]->put("key " + std::to_string(i), value_of(2000, i));
        ASSERT_LE(bytes_in(folder.path()), kLimit + 4 * (kLimit / 16 + 3000));
    }
}

TEST(KernelCacheLimit, TheLeastRecentlyUsedGoFirst) {
    const Folder folder;
    Cache cache(folder.path(), 100000);
    for (int i = 0; i < 10; ++i) {
        cache.put("key " + std::to_string(i), value_of(8000, static_cast<unsigned>(i)));
        make_older(cache.path_of("key " + std::to_string(i)), std::chrono::hours(30 - i));
    }
    EXPECT_TRUE(cache.get("key 0")) << "the oldest is used once more";
    const Trimmed trimmed = trim(folder.path(), 50000);
    EXPECT_EQ(trimmed.entries_removed, 5U);
    EXPECT_EQ(trimmed.bytes, bytes_in(folder.path()));
    EXPECT_TRUE(is_there(cache.path_of("key 0")));
    for (int i = 1; i < 6; ++i) EXPECT_FALSE(is_there(cache.path_of("key " + std::to_string(i)))) << i;
    for (int i = 6; i < 10; ++i) EXPECT_TRUE(is_there(cache.path_of("key " + std::to_string(i)))) << i;
}

TEST(KernelCacheLimit, AnEntryFromTheFutureIsNotKeptForEver) {
    const Folder folder;
    Cache cache(folder.path(), 100000);
    cache.put("future", value_of(8000, 1));
    make_older(cache.path_of("future"), -std::chrono::hours(24 * 365));
    cache.put("now", value_of(8000, 2));
    EXPECT_EQ(trim(folder.path(), 10000).entries_removed, 1U);
    EXPECT_FALSE(is_there(cache.path_of("future")));
    EXPECT_TRUE(is_there(cache.path_of("now")));
}

TEST(KernelCacheLimit, WhatDoesNotFitAtAllIsNotKeptAndEvictsNothing) {
    const Folder folder;
    Cache cache(folder.path(), 10000);
    cache.put("small", "value");
    cache.put("large", value_of(10000, 1));
    EXPECT_EQ(cache.get("large"), std::nullopt);
    EXPECT_EQ(cache.get("small"), "value");
    EXPECT_TRUE(cache.warnings().empty());
    Cache none(folder / "none", 0);
    none.put("key", "");
    EXPECT_FALSE(fs::exists(folder / "none"));
}

TEST(KernelCacheLimit, TemporaryFilesOfKilledProcessesGoOnceNobodyCanBeWritingThem) {
    const Folder folder;
    const fs::path dead = folder.add(".kernel-0123456789abcdef.partial", "cut off");
    const fs::path living = folder.add(".kernel-fedcba9876543210.partial", "being written");
    const fs::path aside = folder.add(std::string(32, 'a') + ".kernel.replaced-12-0", "was open on Windows");
    make_older(dead, std::chrono::minutes(11));
    make_older(aside, std::chrono::minutes(11));
    Cache(folder.path()).put("key", "value");
    EXPECT_FALSE(is_there(dead));
    EXPECT_FALSE(is_there(aside));
    EXPECT_TRUE(is_there(living));
}

TEST(KernelCacheLimit, TemporaryFilesCountAsLongAsTheyAreThere) {
    const Folder folder;
    Cache cache(folder.path(), 10000);
    cache.put("a", value_of(3000, 1));
    folder.add(".kernel-0123456789abcdef.partial", value_of(8000, 2));
    const Trimmed trimmed = trim(folder.path(), 10000);
    EXPECT_EQ(trimmed.entries_removed, 1U);
    EXPECT_EQ(trimmed.bytes, 8000U);
}

TEST(KernelCacheLimit, FilesThatAreNotTheCachesOwnAreNeitherCountedNorRemoved) {
    const Folder folder;
    folder.add("weights.gguf", value_of(50000, 1));
    make_older(folder / "weights.gguf", std::chrono::hours(1000));
    Cache cache(folder.path(), 10000);
    cache.put("a", value_of(3000, 1));
    cache.put("b", value_of(3000, 2));
    EXPECT_TRUE(cache.get("a"));
    EXPECT_TRUE(cache.get("b"));
    EXPECT_TRUE(is_there(folder / "weights.gguf"));
}

}  // namespace
}  // namespace backplane::cache::testing
