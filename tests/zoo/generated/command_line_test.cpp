// What the command line makes of a module that prints, that answers with hostile text, or during whose call a signal comes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/json.hpp"
#include "base/visible_text.hpp"
#include "zoo/generated/place.hpp"

extern char** environ;

namespace backplane {
namespace {

using base::Json;
using zoo::Place;

struct Printed {
    int exit_code = -1;
    std::string out, err;
};

std::string content_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// The command line with this module, under way.
pid_t start(const Place& place, std::vector<std::string> words, std::vector<std::string> variables,
            const posix_spawn_file_actions_t* actions = nullptr) {
    words.insert(words.begin(), BP_TEST_CLI);
    words.insert(words.end(), {"--modules", place.module().string()});
    variables.push_back("BACKPLANE_STATE_DIR=" + place.state().string());
    for (char** v = environ; *v != nullptr; ++v) variables.emplace_back(*v);
    std::vector<char*> argv;
    std::vector<char*> envp;
    for (std::string& word : words) argv.push_back(word.data());
    for (std::string& variable : variables) envp.push_back(variable.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    pid_t child = -1;
    EXPECT_EQ(::posix_spawn(&child, BP_TEST_CLI, actions, nullptr, argv.data(), envp.data()), 0);
    return child;
}

Printed run(const Place& place, const std::vector<std::string>& words, const std::vector<std::string>& variables = {}) {
    const std::string out = place.at("out").string();
    const std::string err = place.at("err").string();
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const pid_t child = start(place, words, variables, &actions);
    ::posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    ::waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), content_of(out), content_of(err)};
}

#define BP_NEEDS_THE_COMMAND_LINE \
    if (BP_TEST_CLI[0] == '\0') GTEST_SKIP() << "this build has no command line"

TEST(CommandLine, WhatAModulePrintsIsNoPartOfItsOutput) {
    BP_NEEDS_THE_COMMAND_LINE;
    for (const char* plan : {"open/flood/host/first/kept", "list/flood/host/first/kept", "close/flood/host/first/kept"}) {
        const Place place(plan);
        const Printed printed = run(place, {"devices", "--json"});
        EXPECT_EQ(printed.exit_code, 0) << plan << printed.err.substr(0, 200);
        EXPECT_NO_THROW(static_cast<void>(Json::parse(printed.out))) << plan << printed.out.substr(0, 200);
        EXPECT_EQ(printed.out.find("!!!!"), std::string::npos) << plan;
        EXPECT_NE(printed.err.find("!!!!"), std::string::npos) << plan << ": it is not lost either";
    }
}

TEST(CommandLine, WhatADriverSaysNeverActsOnTheTerminal) {
    BP_NEEDS_THE_COMMAND_LINE;
    const std::string shown = "no \\u009b\\u202e";  // what follows is no UTF-8: a byte, or U+FFFD where it went through JSON
    for (const char* where : {"open", "list", "device_open", "run"}) {
        for (const char* who : {"host", "both"}) {  // both: what the trial writes down of it is shown at the next start, too
            const Place place(std::string(where) + "/error_with_escapes/" + who + "/first/kept");
            std::string all;
            for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
                     {"doctor"},
                     {"devices", "--verbose"},
                     {"bench", "ops", "--op", "Add", "--device", "minimal", "--seconds", "0.01"}}) {
                const Printed printed = run(place, words, {"BACKPLANE_LOG=debug"});
                all += printed.out + printed.err;
            }
            for (const char* bad : {"\x1b", "\a", "\xc2\x9b", "\xe2\x80\xae", "\xff"})
                EXPECT_EQ(all.find(bad), std::string::npos) << where << ' ' << who << ' ' << base::visible(all);
            EXPECT_NE(all.find(shown), std::string::npos) << where << ' ' << who << ' ' << all;
        }
    }
}

// Whatever else goes wrong on the way out is a consequence of the signal: a driver's compiler that lost its temporary file, say.
TEST(CommandLine, ASignalOutranksTheErrorThatFollowsIt) {
    BP_NEEDS_THE_COMMAND_LINE;
    const std::vector<std::string> words{"bench", "ops", "--op", "Add", "--device", "minimal", "--seconds", "0.01"};
    const Place place("run/error/host/first/kept");
    const Printed error = run(place, words);
    EXPECT_EQ(error.exit_code, 1) << error.err;
    EXPECT_NE(error.err.find("the driver says no"), std::string::npos) << error.err;
    for (const int number : {SIGINT, SIGTERM}) {
        const Printed ended = run(place, words, {"ZOO_SIGNAL=" + std::to_string(number)});
        EXPECT_EQ(ended.exit_code, 128 + number) << ended.err;
        EXPECT_EQ(ended.err.find("the driver says no"), std::string::npos) << ended.err;
        EXPECT_NE(ended.err.find("cancelled"), std::string::npos) << ended.err;
    }
}

TEST(Trial, ASignalEndsTheCommandLineWhileAModuleIsTried) {
    BP_NEEDS_THE_COMMAND_LINE;
    for (const int number : {SIGINT, SIGTERM}) {
        const Place place("open/hang/both/first/kept");
        const pid_t child = start(place, {"devices"}, {"BACKPLANE_PROBE_LIMIT=300"});
        ASSERT_GT(child, 0);
        while (!std::filesystem::exists(place.at("one") / "fired"))
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        ::kill(child, number);
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), 128 + number);
    }
}

}  // namespace
}  // namespace backplane
