// The one way in which files are written: whole or not at all.
#include "base/replacing_file.hpp"

#include <gtest/gtest.h>

#include "backplane/error.hpp"
#include "base/file.hpp"
#include "base/new_file.hpp"
#include "base/user_folder.hpp"
#include "folder.hpp"

namespace backplane::base::testing {
namespace {

Code code_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        return error.code();
    }
    ADD_FAILURE() << "no error";
    return Code::internal;
}

TEST(ReplacingFile, TheOldFileStaysUntilTheNewOneIsWhole) {
    const Folder folder;
    const fs::path path = folder.add("a", "old");
    {
        ReplacingFile file(path);
        file.write(bytes_of("new"));
        EXPECT_EQ(text_in(path), "old");
        file.commit();
        EXPECT_EQ(text_in(path), "new");
    }
    {
        ReplacingFile file(path);
        file.write(bytes_of(std::string(200000, 'x')));
    }
    EXPECT_EQ(text_in(path), "new") << "not committed";
    EXPECT_EQ(folder.count(), 1U);
}

// What a process that was killed leaves: the file without its lock.
TEST(ReplacingFile, WhatAKilledProcessLeftIsSweptAndNothingElse) {
    const Folder folder;
    const std::string digits = "0123456789abcdef";
    const fs::path killed = folder.add("." + machine_mark() + digits + ".partial", "of this machine");
    // Where a file has no lock between its last byte and its name (Windows), a young one may be somebody's.
    fs::last_write_time(killed, fs::last_write_time(killed) - std::chrono::hours(1));
    folder.add(".00000000" + digits + ".partial", "of another machine, and young");
    folder.add("." + digits + digits + ".partial", "of another program");
    folder.add(".kernel-" + digits + ".partial", "somebody else sweeps it");
    folder.add(machine_mark() + digits + ".partial", "not hidden");
    fs::create_directory(folder / ("." + machine_mark() + "fedcba9876543210.partial"));
    const size_t before = folder.count();
    {
        ReplacingFile file(folder / "a");
        file.write(bytes_of("new"));
        EXPECT_FALSE(fs::exists(killed));
        EXPECT_EQ(folder.count(), before) << "one less, and the new one";
        ReplacingFile other(folder / "b");  // does not take what is being written for left behind
        other.write(bytes_of("other"));
        file.commit();
        other.commit();
    }
    EXPECT_EQ(text_in(folder / "a"), "new");
    EXPECT_EQ(text_in(folder / "b"), "other");
    EXPECT_EQ(folder.count(), before + 1);
}

TEST(ReplacingFile, PiecesOfAnySizeKeepTheirOrder) {
    const Folder folder;
    std::string expected;
    ReplacingFile file(folder / "a", {.durable = false});
    for (const size_t size : {1, 8, 70000, 3, 65535, 1, 65536, 0, 200000, 5}) {
        const std::string piece(size, static_cast<char>('a' + expected.size() % 26));
        EXPECT_TRUE(file.try_write(bytes_of(piece)));
        expected += piece;
    }
    file.commit();
    EXPECT_EQ(text_in(folder / "a"), expected);
    EXPECT_FALSE(file.try_write(bytes_of("after the end")));
    EXPECT_EQ(code_of([&] { file.commit(); }), Code::denied);
    EXPECT_EQ(text_in(folder / "a"), expected);
}

TEST(ReplacingFile, WhatCannotBeAFileIsRefusedAtTheStart) {
    const Folder folder;
    fs::create_directory(folder / "inner");
    EXPECT_EQ(code_of([&] { ReplacingFile file(folder / "inner"); }), Code::invalid);
    EXPECT_EQ(code_of([&] { ReplacingFile file(folder / "inner", {.follow_links = false}); }), Code::invalid);
    EXPECT_EQ(code_of([&] { ReplacingFile file(folder / "none" / "a"); }), Code::not_found);
    EXPECT_EQ(code_of([&] { ReplacingFile file(folder / std::string(300, 'x')); }), Code::invalid);
    EXPECT_EQ(folder.count(), 1U);
}

TEST(ReplacingFile, TheTemporaryNameCarriesTheMarkAndIsShort) {
    const Folder folder;
    ReplacingFile file(folder / std::string(240, 'x'), {.mark = "mine-"});
    std::string problem;
    std::vector<fs::path> names = names_in(folder.path(), problem);
    std::erase_if(names, [](const fs::path& name) { return name == "." || name == ".."; });
    ASSERT_EQ(names.size(), 1U);
    EXPECT_TRUE(names[0].string().starts_with(".mine-")) << names[0];
    EXPECT_TRUE(names[0].string().ends_with(".partial")) << names[0];
    EXPECT_LT(names[0].string().size(), 40U);
    file.commit();
    EXPECT_EQ(text_in(folder / std::string(240, 'x')), "");
}

TEST(ReplacingFile, ASmallFileIsWrittenWithItsFolders) {
    const Folder folder;
    EXPECT_EQ(write_whole_file(folder / "a" / "b" / "file", "text"), "");
    EXPECT_EQ(text_in(folder / "a" / "b" / "file"), "text");
    EXPECT_EQ(write_whole_file(folder / "a" / "b" / "file", "other"), "");
    EXPECT_EQ(text_in(folder / "a" / "b" / "file"), "other");
    EXPECT_NE(write_whole_file(folder / "a" / "b" / "file" / "below", "text"), "");
    EXPECT_NE(write_whole_file(folder / "a" / "b", "text"), "");
    EXPECT_EQ(make_own_folder(folder / "a" / "b"), "");
}

TEST(Files, OnlyFilesAreRemovedAndTheirTimeCanBeSet) {
    const Folder folder;
    const fs::path path = folder.add("a", "x");
    fs::create_directory(folder / "inner");
    EXPECT_FALSE(remove_file(folder / "inner"));
    EXPECT_FALSE(remove_file(folder / "none"));
    const auto before = fs::last_write_time(path);
    fs::last_write_time(path, before - std::chrono::hours(5));
    set_modified_now(path);
    EXPECT_GE(fs::last_write_time(path), before - std::chrono::seconds(1));
    set_modified_now(folder / "none");
    EXPECT_FALSE(fs::exists(folder / "none"));
    EXPECT_TRUE(remove_file(path));
    EXPECT_FALSE(fs::exists(path));
}

TEST(Files, AFolderThatOthersMayWriteToIsNotTrusted) {
    const Folder folder;
    fs::create_directories(folder / "a" / "b");
    EXPECT_EQ(why_not_trusted(folder / "a" / "b"), "");
    test::let_others_write(folder / "a");
    EXPECT_NE(why_not_trusted(folder / "a" / "b").find("above it"), std::string::npos);
    EXPECT_NE(why_not_trusted(folder / "a").find("this folder"), std::string::npos);
}

}  // namespace
}  // namespace backplane::base::testing
