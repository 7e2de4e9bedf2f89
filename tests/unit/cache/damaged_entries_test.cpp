// What must never be believed: each case is a miss, and the file goes.
#include "support.hpp"

namespace backplane::cache::testing {
namespace {

// A folder with one entry, and the bytes of its file.
class DamagedEntry : public ::testing::Test {
protected:
    DamagedEntry() {
        Cache(folder_.path()).put("key", value_);
        path_ = Cache(folder_.path()).path_of("key");
        file_ = text_in(path_);
    }

    void expect_dropped(const std::string& what) {
        Cache cache(folder_.path());
        ASSERT_EQ(cache.get("key"), std::nullopt) << what;
        ASSERT_FALSE(is_there(path_)) << what;
        ASSERT_TRUE(cache.warnings().empty()) << cache.warnings()[0];
        ASSERT_EQ(cache.remarks().size(), 1U) << what;
    }
    void expect_dropped_with(const std::string& content, const std::string& what) {
        write_file(path_, content);
        expect_dropped(what);
    }
    // The file with another number at `at`, its hash made to fit.
    [[nodiscard]] std::string with_number(size_t at, uint64_t number, size_t bytes = 8) const {
        std::string file = file_;
        for (size_t i = 0; i < bytes; ++i) file[at + i] = static_cast<char>(number >> (8 * i));
        return sealed(file);
    }
    static std::string sealed(std::string file) {
        const Hash hash = true_hash(bytes_of(file));
        for (size_t i = 0; i < hash.size(); ++i) file[48 + i] = static_cast<char>(hash[i]);
        return file;
    }

    const std::string value_ = value_of(97, 1);
    Folder folder_;
    fs::path path_;
    std::string file_;
};

TEST_F(DamagedEntry, CutAtEveryLength) {
    ASSERT_EQ(Cache(folder_.path()).get("key"), value_);
    for (size_t length = 0; length < file_.size(); ++length)
        expect_dropped_with(file_.substr(0, length), std::to_string(length) + " bytes");
}

TEST_F(DamagedEntry, WithAnySingleBitFlipped) {
    for (size_t at = 0; at < file_.size(); ++at)
        for (int bit = 0; bit < 8; ++bit) {
            std::string changed = file_;
            changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
            expect_dropped_with(changed, "bit " + std::to_string(bit) + " of byte " + std::to_string(at));
        }
}

TEST_F(DamagedEntry, WithAnythingAppended) {
    for (const size_t more : {1, 64, 4096}) expect_dropped_with(file_ + std::string(more, '\0'), std::to_string(more));
    expect_dropped_with(file_ + file_, "twice");
    expect_dropped_with(sealed(file_ + "x"), "with a hash that fits");
}

TEST_F(DamagedEntry, StatingHugeLengthsWithAHashThatFits) {
    for (const size_t at : {16, 24, 32})
        for (const uint64_t number : {uint64_t{1} << 40, UINT64_MAX, UINT64_MAX - 63, uint64_t{1} << 63, uint64_t{4096}})
            expect_dropped_with(with_number(at, number), std::to_string(at));
    // Lengths whose sum overflows to the right one.
    const uint64_t sum = file_.size() - kHeaderBytes;
    std::string file = with_number(16, UINT64_MAX);
    for (size_t i = 0; i < 8; ++i) file[24 + i] = static_cast<char>((sum + 1) >> (8 * i)), file[32 + i] = 0;
    expect_dropped_with(sealed(file), "a sum that overflows");
}

TEST_F(DamagedEntry, OfAnotherFormatOrWithBytesThatMeanNothingYet) {
    expect_dropped_with(with_number(8, 2, 4), "format 2");
    expect_dropped_with(with_number(8, 0, 4), "format 0");
    expect_dropped_with(with_number(12, 1, 4), "reserved");
    expect_dropped_with(with_number(40, 1), "padding");
    expect_dropped_with(sealed("X" + file_.substr(1)), "magic");
}

TEST_F(DamagedEntry, AForeignFile) {
    expect_dropped_with("", "nothing");
    expect_dropped_with("#!/bin/sh\necho hello\n", "a script");
    expect_dropped_with(std::string(1 << 20, '\0'), "zeros");
    expect_dropped_with(value_of(100000, 7), "noise");
}

// The name is a hash of the key: what lies under it may still be another's.
TEST_F(DamagedEntry, OfAnotherKeyUnderThisName) {
    Cache cache(folder_.path());
    cache.put("other", "the other's value");
    fs::rename(cache.path_of("other"), path_);
    expect_dropped("another key");
    cache.put("key", "the same key in another scope", "fake 1.0 build 4567");
    fs::rename(cache.path_of("key", "fake 1.0 build 4567"), path_);
    expect_dropped("another scope");
}

TEST_F(DamagedEntry, AFolderIsAMissAndStays) {
    fs::remove(path_);
    fs::create_directory(path_);
    Cache cache(folder_.path());
    EXPECT_EQ(cache.get("key"), std::nullopt);
    cache.put("key", value_);
    EXPECT_EQ(cache.get("key"), std::nullopt);
    EXPECT_TRUE(fs::is_directory(path_));
    EXPECT_EQ(cache.warnings().size(), 1U);
    cache.put("another", "still kept");
    EXPECT_EQ(cache.get("another"), "still kept");
}

TEST_F(DamagedEntry, LargerThanTheLimitIsNotRead) {
    write_file(path_, file_);
    fs::resize_file(path_, kDefaultLimit + 1);
    expect_dropped("a byte too many");
}

TEST_F(DamagedEntry, IsRebuiltByTheNextPut) {
    write_file(path_, file_.substr(0, 80));
    Cache cache(folder_.path());
    cache.put("key", "new");
    EXPECT_EQ(cache.get("key"), "new");
    // The same bytes but for one: not taken for the same content.
    std::string changed = file_;
    changed.back() = static_cast<char>(changed.back() ^ 1);
    write_file(path_, changed);
    cache.put("key", value_);
    EXPECT_EQ(cache.get("key"), value_);
}

TEST_F(DamagedEntry, ThatOthersMayWriteToIsNotBelieved) {
    write_file(path_, file_);
    test::let_others_write(path_);
    expect_dropped("writable by others");
}

TEST_F(DamagedEntry, IsReportedWithoutBeingUsed) {
    EXPECT_EQ(problem_of(folder_.path(), path_.filename().string(), 4096), "");
    write_file(path_, file_.substr(0, 90));
    EXPECT_NE(problem_of(folder_.path(), path_.filename().string(), 4096).find("cut off"), std::string::npos);
    std::string changed = file_;
    changed.back() = static_cast<char>(changed.back() ^ 1);
    write_file(path_, changed);
    EXPECT_NE(problem_of(folder_.path(), path_.filename().string(), 4096).find("damaged"), std::string::npos);
    Cache cache(folder_.path());
    cache.put("other", "value");
    fs::rename(cache.path_of("other"), path_);
    EXPECT_NE(problem_of(folder_.path(), path_.filename().string(), 4096).find("another key"), std::string::npos);
    EXPECT_EQ(problem_of(folder_.path(), "0123456789abcdef0123456789abcdef.kernel", 4096), "") << "evicted meanwhile";
}

}  // namespace
}  // namespace backplane::cache::testing
