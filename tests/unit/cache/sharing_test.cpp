// What is kept, for whom, and what goes on at the same time.
#include <atomic>
#include <thread>

#include "support.hpp"

namespace backplane::cache::testing {
namespace {

TEST(KernelCache, WhatWasPutIsThereForTheNextProcess) {
    const Folder folder;
    const std::string zeros(5, '\0');
    for (const std::string& key : {std::string("key"), std::string(), zeros, value_of(5000, 3)})
        for (const std::string& value : {std::string("value"), std::string(), value_of(300000, 4)}) {
            Cache(folder.path()).put(key, value);
            Cache cache(folder.path());
            EXPECT_EQ(cache.get(key), value);
            EXPECT_TRUE(cache.warnings().empty());
        }
    EXPECT_EQ(Cache(folder.path()).get("another key"), std::nullopt);
    EXPECT_EQ(folder.count(), 4U) << "one file a key, nothing else";
}

TEST(KernelCache, TheFileIsThereWhenPutReturns) {
    const Folder folder;
    Cache cache(folder.path());
    cache.put("key", "value");
    EXPECT_TRUE(is_there(cache.path_of("key")));
}

TEST(KernelCache, AnotherBuildOfAModuleSeesNothing) {
    const Folder folder;
    Cache cache(folder.path());
    cache.put("key", "of the first", "fake 1.0 build a");
    EXPECT_EQ(cache.get("key", "fake 1.0 build b"), std::nullopt);
    cache.put("key", "of the second", "fake 1.0 build b");
    EXPECT_EQ(cache.get("key", "fake 1.0 build a"), "of the first");
    cache.put("bkey", "x", "scope");
    EXPECT_EQ(cache.get("key", "scopeb"), std::nullopt) << "where the one ends and the other begins is part of the name";
}

TEST(KernelCache, NothingIsMadeBeforeSomethingIsPut) {
    const Folder folder;
    Cache cache(folder / "a" / "b");
    EXPECT_EQ(cache.get("key"), std::nullopt);
    cache.reject("key");
    EXPECT_EQ(folder.count(), 0U);
    cache.put("key", "value");
    EXPECT_EQ(cache.get("key"), "value");
}

TEST(KernelCache, AFileIsWrittenOnlyWhenItChanged) {
    const Folder folder;
    Cache cache(folder.path());
    cache.put("key", "value");
    const fs::path path = cache.path_of("key");
    const uint64_t number = base::status_of(path).number;
    const auto time = fs::last_write_time(path);
    cache.put("key", "value");
    EXPECT_EQ(cache.get("key"), "value");
    EXPECT_EQ(base::status_of(path).number, number);
    EXPECT_EQ(fs::last_write_time(path), time) << "a use soon after another is not noted";
    for (int use = 0; use < 2; ++use) {
        make_older(path, std::chrono::hours(2));
        if (use == 0)
            cache.put("key", "value");
        else
            EXPECT_EQ(cache.get("key"), "value");
        EXPECT_EQ(base::status_of(path).number, number);
        EXPECT_GE(fs::last_write_time(path), time) << "a use long after the last is";
    }
    cache.put("key", "another");
    EXPECT_EQ(cache.get("key"), "another");
}

TEST(KernelCache, AValueStaysReadableWhateverBecomesOfItsFile) {
    const Folder folder;
    Cache cache(folder / "cache");
    const std::string value = value_of(200000, 5);
    cache.put("key", value);
    const auto first = cache.object().get(kScope, bytes_of("key"));
    cache.put("key", "another");
    const auto second = cache.object().get(kScope, bytes_of("key"));
    write_file(cache.path_of("key"), "");
    fs::remove_all(folder / "cache");
    ASSERT_TRUE(first && second);
    EXPECT_EQ(text_of(first->value()), value);
    EXPECT_EQ(text_of(second->value()), "another");
}

TEST(KernelCache, ARejectedValueIsNeverServedAgainAndGoesFromTheDisk) {
    const Folder folder;
    Cache cache(folder.path());
    cache.put("key", "bad");
    cache.put("other", "good");
    EXPECT_EQ(cache.get("key"), "bad");
    cache.reject("key");
    EXPECT_FALSE(is_there(cache.path_of("key")));
    EXPECT_EQ(cache.get("key"), std::nullopt);
    cache.put("key", "bad");  // as a module does that cannot tell
    EXPECT_EQ(cache.get("key"), std::nullopt);
    Cache(folder.path()).put("key", "bad");  // as another process does
    EXPECT_EQ(cache.get("key"), std::nullopt);
    EXPECT_FALSE(is_there(cache.path_of("key")));
    cache.put("key", "rebuilt");
    EXPECT_EQ(cache.get("key"), "rebuilt");
    EXPECT_EQ(cache.get("other"), "good");
}

TEST(KernelCache, ARejectedValueWhosePlaceAnotherTookLeavesThatOneAlone) {
    const Folder folder;
    Cache cache(folder.path());
    cache.put("key", "bad");
    EXPECT_EQ(cache.get("key"), "bad");
    Cache(folder.path()).put("key", "better");
    cache.reject("key");
    EXPECT_EQ(cache.get("key"), "better");
    EXPECT_EQ(Cache(folder.path()).get("key"), "better");
}

TEST(KernelCache, WhatIsRejectedWithoutHavingBeenReadGoesToo) {
    const Folder folder;
    Cache(folder.path()).put("key", "bad");
    Cache cache(folder.path());
    cache.reject("key");
    EXPECT_FALSE(is_there(cache.path_of("key")));
    cache.put("key", "bad");
    EXPECT_EQ(cache.get("key"), std::nullopt);
}

TEST(KernelCache, AFolderRemovedInMidUseIsMadeAgain) {
    const Folder folder;
    Cache cache(folder / "cache");
    cache.put("a", "1");
    fs::remove_all(folder / "cache");
    EXPECT_EQ(cache.get("a"), std::nullopt);
    cache.put("b", "2");
    EXPECT_EQ(cache.get("b"), "2");
    EXPECT_TRUE(cache.warnings().empty());
}

TEST(KernelCache, ClearRemovesWhatIsItsOwnAndNothingElse) {
    const Folder folder;
    Cache cache(folder / "cache");
    cache.put("a", "1");
    cache.put("b", "2");
    write_file(folder / "cache" / ".kernel-0123456789abcdef.partial", "cut");
    EXPECT_EQ(clear(folder / "cache"), 3U);
    EXPECT_FALSE(fs::exists(folder / "cache"));
    cache.put("a", "1");
    const std::vector<const char*> others{"notes.txt",
                                          ".0123456789abcdef.partial",
                                          "0123.kernel",
                                          "x.kernel.replaced-1-0",
                                          "0123456789ABCDEF0123456789ABCDEF.kernel",
                                          ".kernel-.partial",
                                          "kernel"};
    for (const char* other : others) write_file(folder / "cache" / other, "not the cache's");
    EXPECT_EQ(clear(folder / "cache"), 1U);
    for (const char* other : others) EXPECT_TRUE(fs::exists(folder / "cache" / other)) << other;
    EXPECT_EQ(clear(folder / "none"), 0U);
}

// Four objects, as four processes would have, and four threads each: what is read is always one of the values that were put, whole.
TEST(KernelCache, ManyThreadsReadOneValueOrAnotherAndNeverAMixture) {
    const Folder folder;
    constexpr unsigned kKeys = 5, kRounds = 150;
    std::vector<std::unique_ptr<Cache>> caches;
    for (int i = 0; i < 4; ++i) caches.push_back(std::make_unique<Cache>(folder.path(), 100000));
    std::atomic<int> hits{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 16; ++t)
        threads.emplace_back([&, t] {
            Cache& cache = *caches[t % 4];
            for (unsigned round = 0; round < kRounds; ++round) {
                const std::string key = "key " + std::to_string((t + round) % kKeys);
                if (const auto found = cache.get(key)) {
                    ++hits;
                    ASSERT_GE(found->size(), 2U);
                    const unsigned seed = static_cast<unsigned char>((*found)[0]);
                    ASSERT_EQ(found->substr(1), value_of(found->size() - 1, seed)) << key;
                }
                if (round % 3 == 0) {
                    const unsigned seed = (t * 31 + round) & 0xff;
                    cache.put(key, std::string(1, static_cast<char>(seed)) + value_of(1 + seed * 40, seed));
                }
                if (round % 50 == 49) cache.reject(key);
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(hits, 0);
    for (const auto& cache : caches) EXPECT_TRUE(cache->warnings().empty()) << cache->warnings()[0];
    std::string problem;
    for (const FoundFile& file : files_in(folder.path(), problem)) {
        EXPECT_FALSE(file.temporary) << file.name;
        EXPECT_EQ(problem_of(folder.path(), file.name, 100000), "");
    }
}

}  // namespace
}  // namespace backplane::cache::testing
