#include <gtest/gtest.h>

#include <array>

#include "backplane/error.hpp"
#include "base/dynamic_library.hpp"
#include "base/environment.hpp"
#include "base/file.hpp"
#include "folder.hpp"

namespace backplane::base::testing {
namespace {

TEST(Libraries, WhatIsLoadedHasItsSymbolsAndWhatIsNotSaysWhy) {
    const DynamicLibrary library{fs::path(BP_TEST_MINIMAL)};
    EXPECT_NE(library.symbol("backplane_module"), nullptr);
    EXPECT_EQ(library.symbol("no_such_symbol"), nullptr);
    const Folder folder;
    for (const fs::path& bad : {folder / test::library("none"), folder.add(test::library("text"), "no library")}) {
        try {
            const DynamicLibrary refused(bad);
            ADD_FAILURE() << bad;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::not_found);
            EXPECT_NE(std::string(error.what()).find(bad.filename().string()), std::string::npos) << error.what();
        }
    }
}

// A packager's upgrade while a program runs: the old file is loaded, the new one gets its name, and is what is loaded next.
TEST(Libraries, ALoadedFileCanBeReplacedAndNothingIsLeftOfItInTheEnd) {
    const Folder folder;
    const fs::path file = folder / test::library("backplane-a");
    fs::copy_file(BP_TEST_MINIMAL, file);
    const std::string bytes = text_in(file);
    {
        const DynamicLibrary old(file);
        EXPECT_EQ(replace(folder.add("new", bytes + "more"), file), "");
        EXPECT_EQ(text_in(file), bytes + "more");
        EXPECT_NE(old.symbol("backplane_module"), nullptr);
    }
    {
        const DynamicLibrary anew(file);
        EXPECT_NE(anew.symbol("backplane_module"), nullptr);
    }
    EXPECT_EQ(replace(folder.add("new", bytes), file), "");
    EXPECT_EQ(folder.count(), 1U);
}

// The loader knows a library by every name under which it was asked for it.
TEST(Libraries, AFileIsReplacedUnderTheSecondNameOfOneThatIsLoadedAndIsLoadedAnew) {
    const Folder folder;
    const fs::path first = folder / test::library("backplane-a");
    const fs::path second = folder / test::library("backplane-b");
    fs::copy_file(BP_TEST_MINIMAL, first);
    fs::create_hard_link(first, second);
    const DynamicLibrary by_first(first);
    const DynamicLibrary by_second(second);
    EXPECT_EQ(replace(folder.add("new", text_in(first) + "more"), second), "");
    const DynamicLibrary anew(second);
    EXPECT_NE(anew.symbol("backplane_module"), nullptr);
    EXPECT_NE(anew.symbol("backplane_module"), by_second.symbol("backplane_module"));
    const DynamicLibrary again(first);
    EXPECT_EQ(again.symbol("backplane_module"), by_first.symbol("backplane_module"));
}

TEST(Libraries, ThisFileIsKnown) {
    EXPECT_EQ(status_of(own_file()).kind, FileStatus::Kind::regular);
    EXPECT_EQ(status_of(executable_file()).kind, FileStatus::Kind::regular);
    EXPECT_TRUE(executable_file().is_absolute());
    EXPECT_EQ(status_of(own_file()).number, status_of(executable_file()).number) << "the layer is linked into this program";
}

TEST(Libraries, WhetherTheSystemWouldFindOneIsKnownWithoutLoading) {
    EXPECT_EQ(find_library(test::system_library(), {}), Presence::present);
    EXPECT_EQ(find_library(test::library("surely-not-there"), {}), Presence::absent);
    const Folder folder;
    folder.add(test::library("surely-not-there"), "");
    const std::array paths{folder.path()};
    EXPECT_EQ(find_library(test::library("surely-not-there"), paths), Presence::present);
    EXPECT_EQ(find_library((folder / "none").string(), {}), Presence::absent);
}

TEST(Environment, AValueOfAnyLengthIsReadAndAnEmptyOneIsNone) {
    const char* const name = "BACKPLANE_TEST_VALUE";
    for (const size_t size : {1, 255, 256, 257, 5000}) {
        test::set_environment(name, std::string(size, 'x'));
        EXPECT_EQ(environment(name), std::string(size, 'x')) << size;
    }
    test::set_environment(name, "pl\xc3\xbcgin");
    EXPECT_EQ(environment(name), "pl\xc3\xbcgin");
    test::set_environment(name, "");
    EXPECT_FALSE(environment(name));
    test::unset_environment(name);
    EXPECT_FALSE(environment(name));
}

}  // namespace
}  // namespace backplane::base::testing
