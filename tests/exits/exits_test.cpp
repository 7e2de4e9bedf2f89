// The end of a process, in every way: with the exit code it was given, without a signal or a hang, and without a call of a module by the
// thread that ends it, after the end has begun.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "support/system.hpp"

namespace {

// Of builds that link the GPU backends in: what drivers do at their start and end is not what this is about (tests/drivers).
const bool kNoDrivers = [] {
    backplane::test::set_environment("OCL_ICD_VENDORS", "/nonexistent");
    backplane::test::set_environment("VK_DRIVER_FILES", "/nonexistent.json");
    return true;
}();

namespace fs = std::filesystem;

constexpr int kCode = 17;

struct Ending {
    int code = 0;  // 128 and more: a signal
    std::vector<std::string> diary;
    std::string text;
};

Ending end_by(const std::string& way) {
    const fs::path folder = backplane::test::make_temporary_folder();
    const fs::path diary = folder / "diary";
    { std::ofstream created(diary); }
    const pid_t child = ::fork();
    if (child == 0) {
        ::setenv("BACKPLANE_EXITS_DIARY", diary.c_str(), 1);
        ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // some of these leak on purpose
        ::execl(BP_TEST_EXITS_HOST, "host", way.c_str(), diary.c_str(), BP_TEST_EXITS_FOLDER, BP_TEST_EXITS_LIBRARY,
                nullptr);
        ::_exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    Ending ending;
    ending.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    std::ifstream file(diary);
    for (std::string line; std::getline(file, line);) {
        ending.diary.push_back(line);
        ending.text += line + "\n";
    }
    fs::remove_all(folder);
    return ending;
}

// Calls of modules that the ending thread made after the end had begun.
std::vector<std::string> calls_after_the_end(const Ending& ending) {
    std::vector<std::string> calls;
    std::string thread;
    for (const std::string& line : ending.diary) {
        std::istringstream words(line);
        std::string what;
        std::string who;
        words >> what >> who;
        if (what == "end")
            thread = who;
        else if (who == thread && what != "destructor")
            calls.push_back(what);
    }
    return calls;
}

class Exits : public testing::TestWithParam<const char*> {};

TEST_P(Exits, EndsWithItsCodeAndWithoutACallOfAModule) {
    if (std::string_view(BP_TEST_SANITIZE) == "thread" && std::string_view(GetParam()) == "LibraryUnloadedAfterItsContexts")
        GTEST_SKIP() << "ThreadSanitizer's atexit still calls the functions of a library that was unloaded";
    const Ending ending = end_by(GetParam());
    EXPECT_EQ(ending.code, kCode) << ending.text;
    EXPECT_NE(ending.text.find("end "), std::string::npos) << ending.text;
    EXPECT_TRUE(calls_after_the_end(ending).empty()) << ending.text;
}

INSTANTIATE_TEST_SUITE_P(Ways, Exits,
                         testing::Values("EverythingClosedBefore", "TheContextGoesBeforeItsDevices", "ReturnFromMain",
                                         "Exit", "UnderscoreExit", "QuickExit", "GlobalContext", "ExitFromAnotherThread",
                                         "WhileThreadsCompute", "MainThreadEndsFirst", "InAForkedChild",
                                         "LibraryUnloadedAfterItsContexts", "LibraryUnloadedWithAContextOpen"),
                         [](const auto& way) { return std::string(way.param); });

// A static object that holds a Context is a destructor that its application asked for: it closes what was loaded before it was made, while
// that is still whole.
TEST(Exits, ALocalStaticContextIsClosedBeforeItsModulesEnd) {
    const Ending ending = end_by("LocalStaticContext");
    EXPECT_EQ(ending.code, kCode) << ending.text;
    const std::vector<std::string> calls = calls_after_the_end(ending);
    ASSERT_FALSE(calls.empty());
    EXPECT_EQ(calls.back(), "close") << ending.text;
    EXPECT_EQ(ending.text.find("after-its-end"), std::string::npos) << ending.text;
}

TEST(Exits, WhatIsClosedIsClosedInOrder) {
    const Ending ending = end_by("EverythingClosedBefore");
    std::string order;
    for (const std::string& line : ending.diary) order += line.substr(0, line.find(' ')) + " ";
    EXPECT_NE(order.find("device_close close destructor end"), std::string::npos) << order;
}

}  // namespace
