// What a module does, in its trial or in the application, to processes: what it leaves running, what it changes of its own, what it takes hold of.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "support/system.hpp"
#include "zoo/generated/place.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using zoo::all_notes;
using zoo::expect_the_good_one;
using zoo::lines_of;
using zoo::Place;

// ---- what it leaves -----------------------------------------------------------------------------------------------------------------

// What was killed takes its time to go; one that nobody waits for stays as a name.
bool lives(int process) {
    for (int i = 0; i < 6000; ++i) {
        const std::vector<std::string> status = lines_of("/proc/" + std::to_string(process) + "/stat");
        if (status.empty() || status[0].find(") Z ") != std::string::npos) return false;
        std::this_thread::sleep_for(milliseconds(10));
    }
    return true;
}

TEST(Trial, ProcessesThatAModuleLeavesEndWithItAndAreToldOf) {
    for (const char* act : {"leave_daemon", "leave_child"}) {
        const Place place(std::string("open/") + act + "/child/first/kept");
        const Report report = Context(place.options()).report();
        EXPECT_EQ(report.candidates.at(0).verdict, Verdict::loaded) << report.summary();
        EXPECT_NE(report.candidates[0].reason.find("leaves processes behind"), std::string::npos) << report.summary();
        const std::vector<std::string> left = lines_of(place.at("one") / "left");
        ASSERT_EQ(left.size(), 1U);
        EXPECT_FALSE(lives(std::stoi(left[0].substr(left[0].find(' ') + 1)))) << act << " lives on";
    }
}

// They would stay for an hour, and the trial may take as long: one that waited for them would not end in the time that tests have.
TEST(Trial, ManyProcessesAndDaemonsThatAModuleLeavesAllEndAndAreNotWaitedFor) {
    const Place place("open/leave_many/child/first/kept");
    ContextOptions options = place.options();
    options.probe_limit = options.probe_budget = std::chrono::hours(1);
    const Report report = Context(options).report();
    EXPECT_EQ(report.candidates.at(0).verdict, Verdict::loaded) << report.summary();
    EXPECT_NE(report.candidates[0].reason.find("leaves processes behind"), std::string::npos) << report.summary();
    const std::vector<std::string> left = lines_of(place.at("one") / "left");
    EXPECT_GT(left.size(), 40U) << "it did not leave what it was to leave";
    for (const std::string& line : left) {
        const int process = std::stoi(line.substr(line.find(' ') + 1));
        EXPECT_FALSE(lives(process)) << process << " lives on, of " << left.size();
    }
}

TEST(Trial, WhatAModuleLeavesIsToldOfWhereNothingCanBeRememberedToo) {
    const Place place("open/leave_child/child/first/kept");
    ContextOptions options = place.options();
    std::ofstream(place.at("file")) << "x";
    options.state_folder = place.at("file") / "state";
    const Report report = Context(options).report();
    for (const char* words : {"leaves processes behind", "cannot be remembered"})
        EXPECT_NE(all_notes(report).find(words), std::string::npos) << words << ": " << report.summary();
}

TEST(Trial, AThreadThatAModuleLeavesKeepsItMapped) {
    const Place place("open/leave_thread/both/first/unloadable");
    {
        const Context context(place.options());
        const Report report = context.report();
        EXPECT_EQ(report.candidates.at(0).verdict, Verdict::loaded) << report.summary();
        EXPECT_NE(report.candidates[0].reason.find("thread"), std::string::npos) << report.summary();
    }
    EXPECT_TRUE(test::is_loaded(place.module())) << "its thread would run in memory that is gone";
}

// ---- what it changes ----------------------------------------------------------------------------------------------------------------

struct Change {
    const char *act, *words;
    bool put_back;
};
std::ostream& operator<<(std::ostream& out, const Change& c) { return out << c.act; }

// As far as a host is harmed by it.
std::string state_of_this_process() {
    std::ostringstream text;
    for (const auto which : {ITIMER_REAL, ITIMER_PROF}) {
        itimerval timer{};
        ::getitimer(which, &timer);
        text << (timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0 ? "timer " : "no timer ");
    }
    for (const auto which : {RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_AS}) {
        rlimit limit{};
        ::getrlimit(which, &limit);
        text << limit.rlim_cur << ' ';
    }
    sigset_t mask;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    for (int i = 1; i < 32; ++i) text << sigismember(&mask, i);
    cpu_set_t processors;
    ::sched_getaffinity(0, sizeof processors, &processors);
    text << ' ' << CPU_COUNT(&processors);
    for (int stream = 0; stream < 3; ++stream) text << ' ' << ::fcntl(stream, F_GETFD) << ' ' << ::fcntl(stream, F_GETFL);
    const mode_t files = ::umask(077);
    ::umask(files);
    text << ' ' << files;
    return text.str();
}

class TrialOfTheProcess : public testing::TestWithParam<Change> {};

TEST_P(TrialOfTheProcess, WhatAModuleChangesOfItIsToldAndWhatHarmsAHostIsPutBack) {
    for (const char* where : {"constructor", "open", "list"}) {
        const Place place(std::string(where) + "/" + GetParam().act + "/both/first/kept");
        test::unset_environment("ZOO_WAS_HERE");
        const std::string before = state_of_this_process();
        Report report;
        {
            const Context context(place.options());
            report = context.report();
        }
        const std::string after = state_of_this_process();
        EXPECT_EQ(report.candidates.at(0).verdict, Verdict::loaded) << report.summary();
        EXPECT_NE(report.candidates[0].reason.find(GetParam().words), std::string::npos) << report.summary();
        EXPECT_EQ(all_notes(report).find(GetParam().words) != std::string::npos, GetParam().put_back) << all_notes(report);
        EXPECT_TRUE(!GetParam().put_back || before == after) << where << ": " << before << " -> " << after;
    }
}

INSTANTIATE_TEST_SUITE_P(Changes, TrialOfTheProcess,
                         testing::Values(Change{"arm_timer", "the alarm clock", true},
                                         Change{"arm_profiling_timer", "the profiling timer", true},
                                         Change{"lower_limits", "the limit of file sizes", true},
                                         Change{"limit_address_space", "the limit of address space", true},
                                         Change{"make_streams_nonblocking", "standard output", true},
                                         Change{"block_signals", "the mask of signals", true},
                                         Change{"change_umask", "the mask of new files", true},
                                         Change{"close_descriptors", "standard output", true},
                                         Change{"change_environment", "the environment", false}),
                         [](const auto& p) { return p.param.act; });

TEST(Trial, ProcessorsThatAModuleTakesFromTheThreadAreGivenBack) {
    cpu_set_t allowed;  // which hardware_concurrency() does not ask for
    if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) < 2)
        GTEST_SKIP() << "this process may run on one processor: none can be taken";
    const Place place("open/change_affinity/both/first/kept");
    const std::string before = state_of_this_process();
    const Report report = Context(place.options()).report();
    EXPECT_EQ(before, state_of_this_process());
    EXPECT_NE(report.candidates.at(0).reason.find("the processors"), std::string::npos) << report.summary();
}

// ---- what it takes hold of ----------------------------------------------------------------------------------------------------------

// As a debugger does (ptrace): what is held stands still until it is let go. Who holds is ended as soon as that is seen, perhaps before it can
// say that it could. Empty: it could.
std::string why_it_could_not_hold(const Place& place) {
    const std::vector<std::string> said = lines_of(place.at("one") / "held");
    return said.empty() || said[0] == "yes" ? std::string() : said[0];
}

TEST(Trial, AModuleThatHoldsTheApplicationIsEndedAndTheApplicationGoesOn) {
    const Place place("open/hold_host_and_hang/child/first/kept");
    const Report report = Context(place.options()).report();
    ASSERT_EQ(lines_of(place.at("one") / "tries").size(), 1U) << "it did not try: " << report.summary();
    if (const std::string why = why_it_could_not_hold(place); !why.empty())
        GTEST_SKIP() << "a process may hold no other here: " << why;
    EXPECT_NE(report.candidates.at(0).reason.find("during 'open'"), std::string::npos) << report.summary();
    expect_the_good_one(place, place.options(), ReasonCode::quarantined, "held this application");
    EXPECT_EQ(place.remembered(), 1U);
    EXPECT_EQ(lines_of(place.at("one") / "tries").size(), 1U) << "it is not tried again";
}

TEST(Trial, AModuleThatHoldsTheApplicationAndGoesOnLetsItGoWithItsEnd) {
    const Place place("open/hold_host/child/first/kept");
    const Context context(place.options());
    const Report report = context.report();
    ASSERT_EQ(lines_of(place.at("one") / "tries").size(), 1U) << "it did not try: " << report.summary();
    if (const std::string why = why_it_could_not_hold(place); !why.empty())
        GTEST_SKIP() << "a process may hold no other here: " << why;
    // What is over before anybody looks has done no harm.
    const Candidate& module = report.candidates.at(0);
    EXPECT_TRUE(module.verdict == Verdict::loaded || module.code == ReasonCode::quarantined) << report.summary();
    zoo::compute(context.choose("minimal"));
}

TEST(Trial, AModuleThatHoldsWhoWatchesItIsTimedOutAndTheApplicationGoesOn) {
    const Place place("open/hold_parent_and_hang/child/first/kept");
    ContextOptions options = place.options();
    options.probe_limit = zoo::kShort;
    expect_the_good_one(place, options, ReasonCode::timed_out, "did not come back within");
    EXPECT_EQ(lines_of(place.at("one") / "tries").size(), 1U) << "it did not try, or was tried again";
}

}  // namespace
}  // namespace backplane
