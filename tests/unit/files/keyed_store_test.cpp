#include "base/keyed_store.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "base/hash.hpp"
#include "base/wall_clock.hpp"
#include "folder.hpp"

namespace backplane::base::testing {
namespace {

constexpr int64_t kDay = 86400;

KeyedStore store_in(const Folder& folder, int format = 1) { return {folder / "store", "things", format}; }

StoredEntry entry(const std::string& about, int64_t until = 0) {
    StoredEntry e;
    e.about = about;
    e.until = until;
    e.fields = {{"reason", "because of " + about}};
    return e;
}

fs::path only_file(const Folder& folder) { return fs::directory_iterator(folder / "store")->path(); }

// Writes an entry's file anew, with the sum that its content then has.
void rewrite(const fs::path& file, std::string text) {
    text.resize(text.rfind("sum "));
    text += "sum " + hexadecimal(hash_of(text)) + "\n";
    std::ofstream(file, std::ios::binary) << text;
}

TEST(KeyedStore, WhatIsRememberedIsFoundByItsKeyListedAndForgotten) {
    const Folder folder;
    const KeyedStore store = store_in(folder);
    EXPECT_FALSE(fs::exists(folder / "store")) << "nothing is made before something is remembered";
    EXPECT_TRUE(store.all().empty());
    EXPECT_TRUE(store.empty());
    StoredEntry odd = entry("a\nb\\c\td\xff");
    odd.fields["na\tme\n"] = "\n\\n\t\\";
    odd.fields["empty"] = "";
    const int64_t before = unix_seconds();
    EXPECT_EQ(store.remember("key", odd), "");
    EXPECT_EQ(store.remember("other", entry("b", before + kDay)), "");
    const auto found = store.find("key");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->about, odd.about);
    EXPECT_EQ(found->fields, odd.fields);
    EXPECT_GE(found->when, before);
    EXPECT_FALSE(found->expired);
    EXPECT_EQ(store.find("other")->until, before + kDay);
    EXPECT_FALSE(store.find("none"));
    EXPECT_EQ(store.all().size(), 2U);
    EXPECT_FALSE(store.empty());
    EXPECT_EQ(store.forget_if([](const StoredEntry& e) { return e.about == "b"; }), 1U);
    EXPECT_FALSE(store.find("other"));
    EXPECT_TRUE(store.forget("key"));
    EXPECT_FALSE(store.forget("key"));
    EXPECT_EQ(folder.count(), 1U);
    EXPECT_TRUE(fs::is_empty(folder / "store"));
}

TEST(KeyedStore, AnEntryThatIsDamagedAtAnyByteOrUnderAnotherNameOrOfAnotherFormatIsNotThere) {
    const Folder folder;
    const KeyedStore store = store_in(folder);
    ASSERT_EQ(store.remember("key", entry("a")), "");
    const fs::path file = only_file(folder);
    const std::string good = text_in(file);
    for (size_t i = 0; i < good.size(); ++i) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ 1);
        std::ofstream(file, std::ios::binary) << bad;
        EXPECT_FALSE(store.find("key")) << i;
        EXPECT_TRUE(store.empty()) << i;
        std::ofstream(file, std::ios::binary) << good.substr(0, i);
        EXPECT_FALSE(store.find("key")) << i;
    }
    std::ofstream(file, std::ios::binary) << good;
    EXPECT_TRUE(store.find("key"));
    EXPECT_FALSE(store_in(folder, 2).find("key"));
    EXPECT_FALSE(KeyedStore(folder / "store", "others", 1).find("key"));
    ASSERT_EQ(store.remember("other", entry("b")), "");
    fs::path stolen;
    for (const auto& each : fs::directory_iterator(folder / "store"))
        if (each.path() != file) stolen = each.path();
    std::ofstream(stolen, std::ios::binary) << good;  // not copy_file(): MinGW's never overwrites
    EXPECT_FALSE(store.find("other")) << "it is the other one's content";
}

TEST(KeyedStore, AnEndThatHasComeIsToldAndClocksThatWereWrongKeepNothing) {
    const Folder folder;
    const KeyedStore store = store_in(folder);
    ASSERT_EQ(store.remember("key", entry("a", unix_seconds() - 5)), "");
    ASSERT_TRUE(store.find("key"));
    EXPECT_TRUE(store.find("key")->expired);
    const std::string now = std::to_string(store.find("key")->when), end = std::to_string(store.find("key")->until);
    const fs::path file = only_file(folder);
    const std::string text = text_in(file);
    auto with = [&](int64_t when, int64_t until) {
        std::string changed = text;
        changed.replace(changed.find(now + '\n' + end), now.size() + 1 + end.size(),
                        std::to_string(when) + '\n' + std::to_string(until));
        rewrite(file, changed);
        return store.find("key");
    };
    const int64_t today = unix_seconds();
    EXPECT_TRUE(with(today - 50 * kDay, 0)) << "the frame of this test is right";
    EXPECT_FALSE(with(today + 2 * kDay, 0));
    EXPECT_FALSE(with(today, today + 4000 * kDay));
    EXPECT_FALSE(with(-1, 0));
    ASSERT_EQ(store.remember("key", entry("a", today + 4000 * kDay)), "");
    EXPECT_LE(store.find("key")->until, today + 401 * kDay) << "nothing with an end is kept for ever";
}

TEST(KeyedStore, ItsSizeAndNumberAreBounded) {
    const Folder folder;
    const KeyedStore store(folder / "store", "things", 1, {.entries = 3, .bytes = 1000});
    EXPECT_NE(store.remember("large", entry(std::string(2000, 'x'))).find("1000 bytes"), std::string::npos);
    for (const char* key : {"1", "2", "3", "4", "5"}) {
        ASSERT_EQ(store.remember(key, entry(key)), "");
        for (const auto& each : fs::directory_iterator(folder / "store"))  // older than what comes next
            fs::last_write_time(each.path(), fs::last_write_time(each.path()) - std::chrono::seconds(10));
    }
    EXPECT_EQ(store.all().size(), 3U);
    EXPECT_FALSE(store.find("1"));
    EXPECT_TRUE(store.find("5"));
}

TEST(KeyedStore, WhatEndedLongAgoAndWhatKilledProcessesLeftIsSwept) {
    const Folder folder;
    const KeyedStore store = store_in(folder);
    ASSERT_EQ(store.remember("over", entry("over", unix_seconds() - 5)), "");
    const fs::path over = only_file(folder);
    std::string text = text_in(over);
    const std::string end = '\n' + std::to_string(store.find("over")->until) + '\n';
    text.replace(text.find(end), end.size(), "\n" + std::to_string(unix_seconds() - 40 * kDay) + "\n");
    rewrite(over, text);
    const fs::path partial = folder / "store" / ".store-0123456789abcdef.partial", other = folder / "store" / "notes.json",
                   earlier = folder / "store" / "0123456789abcdef.json";
    for (const fs::path& file : {partial, other, earlier}) std::ofstream(file) << "{}";
    for (const fs::path& file : {partial, other, earlier, over})
        fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(24 * 40));
    ASSERT_EQ(store.remember("key", entry("a")), "");
    for (const fs::path& file : {partial, earlier, over}) EXPECT_FALSE(fs::exists(file)) << file;
    EXPECT_TRUE(fs::exists(other)) << "it is not ours";
    std::ofstream(earlier) << "{}";
    EXPECT_EQ(store.forget_all(), 2U) << "what an earlier version left goes, too";
    EXPECT_TRUE(fs::exists(other));
}

TEST(KeyedStore, WhereNothingCanBeWrittenThatIsSaidAndNothingElseIsDifferent) {
    const Folder folder;
    const KeyedStore blocked(folder.add("file", "x") / "below", "things", 1);
    EXPECT_NE(blocked.remember("key", entry("a")), "");
    EXPECT_FALSE(blocked.find("key"));
    EXPECT_TRUE(blocked.all().empty());
    EXPECT_TRUE(blocked.empty());
    const KeyedStore none({}, "things", 1);
    EXPECT_NE(none.remember("key", entry("a")), "");
    EXPECT_FALSE(none.find("key"));
    EXPECT_EQ(none.forget_all(), 0U);
}

TEST(KeyedStore, ThreadsThatWriteAndReadOneKeySeeWholeEntriesOnly) {
    const Folder folder;
    const KeyedStore store = store_in(folder);
    ASSERT_EQ(store.remember("key", entry(std::string(3000, 'a'))), "");
    std::vector<std::thread> threads;
    for (const char letter : {'a', 'b'})
        threads.emplace_back([&store, letter] {
            for (int i = 0; i < 30; ++i) {
                EXPECT_EQ(store.remember("key", entry(std::string(3000, letter))), "");
                const auto found = store.find("key");
                EXPECT_TRUE(found && found->about.find_first_not_of(found->about[0]) == std::string::npos);
            }
        });
    for (std::thread& thread : threads) thread.join();
}

TEST(KeyedStore, TimesAreTold) {
    EXPECT_EQ(utc_text(1'795'324'200), "2026-11-22 05:10 UTC");
    EXPECT_EQ(utc_text(0), "1970-01-01 00:00 UTC");
    EXPECT_FALSE(utc_text(INT64_MAX).empty());
}

}  // namespace
}  // namespace backplane::base::testing
