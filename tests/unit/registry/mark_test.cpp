// Hosts that end inside a module, in every stage and way, and what the next one does: once, not at every start.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "registry/incident.hpp"
#include "support/system.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

struct Outcome {
    int signal = 0, code = -1;
    std::string text;
    [[nodiscard]] bool says(const std::string& what) const { return text.find(what) != std::string::npos; }
};

// The faulty module, which outranks the example, wants a trial in a child process and passes it: what it does it does to hosts.
class Marks : public ::testing::Test {
protected:
    Marks() : folder_(test::make_temporary_folder()) {
        ::signal(SIGINT, SIG_DFL);  // what a script starts in the background begins with it ignored
        fs::create_directories(folder_ / "modules" / "faulty");
        fs::create_directories(folder_ / "modules" / "minimal");
        fs::copy_file(fs::path(BP_TEST_FAULTY) / "child" / test::library("backplane-faulty"), module());
        fs::copy_file(fs::path(BP_TEST_MINIMAL) / test::library("backplane-minimal"),
                      folder_ / "modules" / "minimal" / test::library("backplane-minimal"));
    }
    ~Marks() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    [[nodiscard]] fs::path module() const { return folder_ / "modules" / "faulty" / test::library("backplane-faulty"); }
    [[nodiscard]] fs::path state() const { return folder_ / "state"; }
    [[nodiscard]] size_t marks() const {
        std::error_code none;
        const fs::directory_iterator entries(state() / "marks", none);
        return static_cast<size_t>(std::distance(begin(entries), end(entries)));
    }

    [[nodiscard]] Outcome start(const std::string& fault = "", const std::string& way = "") const {
        const std::string command =
            (fault.empty() ? "" : "BACKPLANE_TEST_FAULT='" + fault + "' ") +
            std::string(
                "ASAN_OPTIONS=handle_segv=0:handle_abort=0:detect_leaks=0 TSAN_OPTIONS=handle_segv=0:"
                "handle_abort=0:handle_sigbus=0:handle_sigill=0:handle_sigfpe=0 exec '") +
            BP_TEST_MARK_PROGRAM + "' '" + state().string() + "' '" + (folder_ / "modules").string() + "' '" +
            BP_TEST_PROBE + "' " + way + " 2>&1";
        Outcome outcome;
        std::FILE* pipe = ::popen(command.c_str(), "r");
        std::array<char, 4096> buffer{};
        for (size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
            outcome.text.append(buffer.data(), n);
        const int status = ::pclose(pipe);
        if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
        if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
        return outcome;
    }
    static void expect_used(const Outcome& outcome, const char* version) {
        EXPECT_EQ(outcome.code, 0) << outcome.text;
        EXPECT_TRUE(outcome.says(std::string("chosen ") + version)) << outcome.text;
        EXPECT_TRUE(outcome.says("computed right")) << outcome.text;
    }
    fs::path folder_;
};

constexpr const char* kFaulty = "9.0.0";
constexpr const char* kGood = "1.0.0";

TEST_F(Marks, AFaultInAnyStageCostsOneStartThenTheNextBestIsTakenAndTheReasonSaysWhoEndedWhere) {
    for (const auto& [call, stage] :
         {std::pair{"constructor", "load"}, std::pair{"table", "table"}, std::pair{"open", "open"},
          std::pair{"list", "list"}, std::pair{"device_open", "device open"}, std::pair{"compile", "compile"},
          std::pair{"run", "run"}, std::pair{"copy", "copy"}, std::pair{"buffer_create", "buffer"},
          std::pair{"program_close", "close"}, std::pair{"device_close", "close"}, std::pair{"close", "close"}}) {
        std::error_code ignored;
        fs::remove_all(state(), ignored);
        const std::string fault = std::string("host ") + call + " 0 crash";
        const Outcome first = start(fault);
        ASSERT_EQ(first.signal, SIGSEGV) << call << ": it ends as it would without marks: " << first.text;
        const Outcome second = start(fault);
        expect_used(second, kGood);
        EXPECT_TRUE(second.says("ended inside '" + std::string(stage) + "' of it on ")) << call << ": " << second.text;
        EXPECT_TRUE(second.says("(signal 11)")) << call << ": " << second.text;
        EXPECT_TRUE(second.says("is kept out until ")) << second.text;
        EXPECT_TRUE(second.says("modules forget " + module().string())) << second.text;
        expect_used(start(fault), kGood);
        EXPECT_EQ(marks(), 0U) << call;
        EXPECT_EQ(registry::Incidents(state()).forget_all(), 1U);
        expect_used(start(), kFaulty);
    }
}

TEST_F(Marks, AKillOrAnExitInAShortStageIsAnIncidentToo) {
    for (const char* fault : {"host device_open 1 kill", "host open 1 kill", "host list 2 kill", "host constructor 1 leave",
                              "host device_open 1 exit", "host run 1 exit", "host run 3 abort"}) {
        std::error_code ignored;
        fs::remove_all(state(), ignored);
        EXPECT_FALSE(start(fault).says("computed")) << fault;
        const Outcome second = start(fault);
        expect_used(second, kGood);
        EXPECT_TRUE(second.says("ended inside '")) << fault << ": " << second.text;
    }
}

TEST_F(Marks, AKillInMidRunDoesNotCostTheDevice) {
    for (int round = 0; round < 4; ++round) {
        EXPECT_EQ(start("host run 5 kill").signal, SIGKILL) << round;
        const Outcome next = start();
        expect_used(next, kFaulty);
        EXPECT_TRUE(next.says("note " + module().filename().string() + ": the process ")) << next.text;
        EXPECT_TRUE(next.says("tried again in a child process, which it passed, and is used")) << next.text;
        EXPECT_FALSE(start().says("ended inside")) << "said once";
    }
    for (int round = 0; round < 4; ++round) EXPECT_EQ(start("host run 5 kill").signal, SIGKILL) << "no clean end between";
    expect_used(start(), kFaulty);
}

TEST_F(Marks, TwoKillsInARowInALongStageThatNeverCameBackKeepItOut) {
    for (const char* fault : {"host compile 1 kill", "host run 1 kill"}) {
        std::error_code ignored;
        fs::remove_all(state(), ignored);
        EXPECT_EQ(start(fault).signal, SIGKILL);
        EXPECT_EQ(start(fault).signal, SIGKILL) << "once is chance";
        expect_used(start(fault), kGood);
    }
    std::error_code ignored;
    fs::remove_all(state(), ignored);
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(start("host run 1 kill").signal, SIGKILL) << "a clean end between";
        expect_used(start(), kFaulty);
    }
}

TEST_F(Marks, AHostThatEndsForAnotherReasonIsNoIncident) {
    for (const char* way : {"killed", "fault", "exit", "leave", "fork"}) {
        static_cast<void>(start("", way));
        const Outcome next = start();
        expect_used(next, kFaulty);
        EXPECT_FALSE(next.says("ended inside")) << way << ": " << next.text;
        EXPECT_EQ(marks(), 0U) << way;
    }
}

TEST_F(Marks, AnInterruptInAStageIsNoIncidentAndEndsTheHostAsItWould) {
    EXPECT_EQ(start("host device_open 1 interrupt").signal, SIGINT);
    const Outcome next = start();
    expect_used(next, kFaulty);
    EXPECT_FALSE(next.says("ended inside")) << next.text;
}

TEST_F(Marks, WithoutListeningForFaultsAFaultIsAnUnknownEnd) {
    EXPECT_EQ(start("host device_open 1 crash", "quiet").signal, SIGSEGV);
    const Outcome next = start("host device_open 1 crash", "quiet");
    expect_used(next, kGood);
    EXPECT_TRUE(next.says("it was killed, or the machine stopped")) << next.text;
}

TEST_F(Marks, AHostThatTriesNothingIsProtectedAsWell) {
    EXPECT_EQ(start("host device_open 1 crash", "never").signal, SIGSEGV);
    expect_used(start("host device_open 1 crash", "never"), kGood);
}

TEST_F(Marks, WhatTheNewTrialFindsIsTheVerdict) {
    EXPECT_EQ(start("host device_open 1 crash").signal, SIGSEGV);
    const Outcome second = start("child open 1 crash");
    expect_used(second, kGood);
    EXPECT_TRUE(second.says("when it was tried in a child process")) << second.text;
    EXPECT_TRUE(second.says("tried again in a child process")) << second.text;
}

TEST_F(Marks, AnotherBuildOfTheModuleBeginsAnew) {
    EXPECT_EQ(start("host device_open 1 crash").signal, SIGSEGV);
    expect_used(start(), kGood);
    fs::copy_file(module(), folder_ / "new");
    fs::rename(folder_ / "new", module());
    expect_used(start(), kFaulty);
}

TEST_F(Marks, EachTimeItIsKeptOutLonger) {
    const registry::Incidents incidents(state());
    EXPECT_EQ(start("host device_open 1 crash").signal, SIGSEGV);
    expect_used(start(), kGood);
    std::optional<registry::Incident> incident = incidents.find(module());
    ASSERT_TRUE(incident);
    const int64_t now = incident->kept_until - 3600;
    for (const int64_t seconds : {24 * 3600, 30 * 24 * 3600, 30 * 24 * 3600}) {
        incident->to_try = true;
        incidents.settle(*incident, incident->key, now);
        EXPECT_EQ(incident->kept_until - now, seconds);
    }
}

TEST_F(Marks, MarksThatAreDamagedOrNobodysAreSweptAndHarmNothing) {
    expect_used(start(), kFaulty);
    const fs::path folder = state() / "marks";
    fs::create_directories(folder);
    std::ofstream(folder / "1-2-3.mark") << "short";
    std::ofstream(folder / "1-2-4.mark") << std::string(4096, '\xff');
    std::ofstream(folder / "1-2-5.mark") << "BPMARK1\n" + std::string(4088, '\x7f');
    std::ofstream(folder / "1-2-6.mark.taken") << std::string(100000, 'x');
    std::ofstream(folder / "1-2-7.mark.new") << "";
    fs::create_directory(folder / "1-2-8.mark");
    fs::create_symlink("/etc/passwd", folder / "1-2-9.mark");
    for (int i = 0; i < 300; ++i) std::ofstream(folder / ("9-9-" + std::to_string(i) + ".mark")) << std::string(4096, '\0');
    const Outcome next = start();
    expect_used(next, kFaulty);
    EXPECT_FALSE(next.says("ended inside")) << next.text;
    EXPECT_EQ(marks(), 2U) << "the folder and the link are not ours";
}

TEST_F(Marks, AStateFolderThatCannotBeWrittenMeansNoMarkAndNoHarm) {
    std::ofstream(state()) << "a file";
    expect_used(start(), kFaulty);
    EXPECT_EQ(start("host device_open 1 crash").signal, SIGSEGV);
    expect_used(start(), kFaulty);
}

TEST_F(Marks, AFileThatIsReplacedWhileItIsLoadedIsNotCalled) {
    fs::copy_file(fs::path(BP_TEST_FAULTY) / "none" / test::library("backplane-faulty"), folder_ / "other");
    test::set_environment("BACKPLANE_TEST_OTHER", (folder_ / "other").string());
    test::set_environment("BACKPLANE_TEST_SELF", module().string());
    const Outcome first = start("host constructor 1 replace");
    expect_used(first, kGood);
    EXPECT_TRUE(first.says("it was changed while it was being loaded")) << first.text;
    expect_used(start(), kFaulty);
}

}  // namespace
}  // namespace backplane
