#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <span>
#include <thread>

#include "backplane/error.hpp"
#include "base/file.hpp"
#include "folder.hpp"

namespace backplane::base::testing {
namespace {

using Stream = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

const fs::path& any_script() {
    static const fs::path kName(u8"pl\u00fcgin \u65e5\u672c\u8a9e.bin");
    return kName;
}

TEST(Files, ANewFileRefusesATakenNameAndIsReadBackUnderAnyScript) {
    const Folder folder;
    const fs::path path = folder / any_script();
    {
        const Stream file(create_new(path), std::fclose);
        ASSERT_NE(file, nullptr);
        EXPECT_EQ(std::fputs("a\nb", file.get()) >= 0, true);
    }
    errno = 0;
    EXPECT_EQ(create_new(path), nullptr);
    EXPECT_EQ(errno, EEXIST);
    const Stream file(open_to_read(path), std::fclose);
    ASSERT_NE(file, nullptr);
    std::array<char, 8> text{};
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), file.get()), 3U);
    errno = 0;
    EXPECT_EQ(open_to_read(folder / "none"), nullptr);
    EXPECT_EQ(errno, ENOENT);
}

TEST(Files, TheStatusSaysWhatAndWhichFileItIs) {
    const Folder folder;
    const fs::path a = folder.add("a", "four");
    const fs::path b = folder.add("b", "other");
    fs::create_hard_link(a, folder / "c");
    const FileStatus status = status_of(a);
    EXPECT_EQ(status.kind, FileStatus::Kind::regular);
    EXPECT_EQ(status.size, 4U);
    EXPECT_GT(status.modified_ns, int64_t{1'600'000'000} * 1'000'000'000);
    EXPECT_LT(status.modified_ns, int64_t{4'000'000'000} * 1'000'000'000);
    EXPECT_EQ(status.number, status_of(folder / "c").number);
    EXPECT_EQ(status.volume, status_of(folder / "c").volume);
    EXPECT_NE(status.number, status_of(b).number);
    EXPECT_FALSE(status.owner.empty());
    EXPECT_FALSE(status.foreign_owner) << status.owner;
    EXPECT_EQ(status_of(folder.path()).kind, FileStatus::Kind::folder);
    EXPECT_EQ(status_of(folder / "none").kind, FileStatus::Kind::missing);
    EXPECT_FALSE(status_of(folder / "none").problem.empty());
}

TEST(Files, WhatOthersMayWriteIsKnown) {
    const Folder folder;
    const fs::path file = folder.add("a", "x");
    fs::create_directory(folder / "inner");
    EXPECT_FALSE(status_of(file).others_may_write);
    EXPECT_FALSE(status_of(folder / "inner").others_may_write);
    test::let_others_write(file);
    test::let_others_write(folder / "inner");
    EXPECT_TRUE(status_of(file).others_may_write);
    EXPECT_TRUE(status_of(folder / "inner").others_may_write);
    EXPECT_NE(how_to_protect(file).find(file.string()), std::string::npos);
}

TEST(Files, BytesAreReadWhereverTheyStandAndNoFurtherThanTheEnd) {
    const Folder folder;
    const File file(folder.add("a", "0123456789"));
    std::array<std::byte, 4> bytes{};
    EXPECT_EQ(file.read_at(8, bytes), 2U);
    EXPECT_EQ(bytes[1], std::byte{'9'});
    EXPECT_EQ(file.read_at(10, bytes), 0U);
    EXPECT_EQ(file.read_at(uint64_t{1} << 40, bytes), 0U);
    EXPECT_EQ(file.read_at(2, bytes), 4U);
    EXPECT_EQ(bytes[0], std::byte{'2'});
    EXPECT_THROW(File{folder.path()}, Error);
    EXPECT_THROW(File{folder / "none"}, Error);
}

TEST(Files, NamesAreSortedAndAProblemIsSaid) {
    const Folder folder;
    folder.add("b", "");
    folder.add(any_script(), "");
    folder.add("a", "");
    std::string problem;
    std::vector<fs::path> names = names_in(folder.path(), problem);
    std::erase_if(names, [](const fs::path& name) { return name == "." || name == ".."; });
    EXPECT_EQ(names, (std::vector<fs::path>{"a", "b", any_script()}));
    EXPECT_TRUE(problem.empty()) << problem;
    EXPECT_TRUE(names_in(folder / "none", problem).empty());
    EXPECT_FALSE(problem.empty());
}

TEST(Files, ThereIsOneRealPath) {
    const Folder folder;
    fs::create_directory(folder / "inner");
    const fs::path file = folder.add("a", "");
    const fs::path real = real_path(file);
    EXPECT_TRUE(real.is_absolute());
    EXPECT_EQ(real_path(folder / "inner" / ".." / "." / "a"), real);
    EXPECT_TRUE(real_path(folder / "none").empty());
}

TEST(Files, AReplacementHasTheNameAndTheContent) {
    const Folder folder;
    const fs::path old = folder.add("a", "old");
    EXPECT_EQ(replace(folder.add("b", "new"), old), "");
    EXPECT_EQ(text_in(old), "new");
    EXPECT_EQ(replace(folder.add("b", "newest"), old), "");
    EXPECT_EQ(text_in(old), "newest");
    EXPECT_EQ(folder.count(), 1U);
    EXPECT_EQ(replace(folder.add("b", "first"), folder / "c"), "");
    EXPECT_NE(replace(folder / "none", old), "");
    EXPECT_EQ(text_in(old), "newest");
    fs::create_directory(folder / "inner");
    folder.add("inner/kept", "x");
    EXPECT_NE(replace(folder.add("b", "no folder"), folder / "inner"), "");
    EXPECT_EQ(text_in(folder / "inner" / "kept"), "x");
}

// The old file or the new one, at any moment, also while others have it open or replace it as well.
TEST(Files, WhoReadsAFileThatIsBeingReplacedFindsAWholeOne) {
    const Folder folder;
    constexpr int kRounds = 60;
    constexpr size_t kSize = 5000;
    const fs::path file = folder.add("a", std::string(kSize, 'x'));
    std::atomic<int> writing = 2;
    std::vector<std::thread> threads;
    for (const char letter : {'y', 'z'})
        threads.emplace_back([&, letter] {
            for (int i = 0; i < kRounds; ++i)
                EXPECT_EQ(replace(folder.add(std::string("new-") + letter, std::string(kSize, letter)), file), "");
            --writing;
        });
    for (int reader = 0; reader < 2; ++reader)
        threads.emplace_back([&] {
            while (writing > 0) {
                EXPECT_EQ(status_of(file).kind, FileStatus::Kind::regular);
                EXPECT_NO_THROW({
                    const File open(file);
                    std::string text(kSize + 1, '\0');
                    text.resize(open.read_at(0, std::as_writable_bytes(std::span(text))));
                    EXPECT_EQ(text.find_first_not_of(text[0]), std::string::npos);
                    EXPECT_EQ(text.size(), kSize);
                });
            }
        });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace backplane::base::testing
