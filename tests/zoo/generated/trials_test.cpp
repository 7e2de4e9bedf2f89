// What a trial in a child process finds, what it does not let through, and what is no verdict. Modules do at one place what their plan
// says (plan.hpp); beside them lies a good one of the same backend that they outrank.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>

#include "zoo/generated/place.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using zoo::all_notes;
using zoo::compute;
using zoo::expect_the_good_one;
using zoo::lines_of;
using zoo::Place;
using zoo::script;

// ---- devices are part of it ---------------------------------------------------------------------------------------------------

struct DeviceCase {
    const char *name, *plan, *words;
};
std::ostream& operator<<(std::ostream& out, const DeviceCase& c) { return out << c.name; }

class TrialOfADevice : public testing::TestWithParam<DeviceCase> {};

TEST_P(TrialOfADevice, ThatIsUnfitIsListedWithTheReasonAndChosenOnlyByItsName) {
    const Place place(GetParam().plan);
    for (const char* start : {"first", "second, remembered"}) {
        const Context context(place.options());
        const Report report = context.report();
        EXPECT_EQ(report.candidates.at(0).verdict, Verdict::loaded) << start << report.summary();
        ASSERT_EQ(report.devices.size(), 1U) << report.summary();
        EXPECT_NE(report.devices[0].fault.find(GetParam().words), std::string::npos) << report.devices[0].fault;
        EXPECT_NE(all_notes(report).find("minimal:0"), std::string::npos) << all_notes(report);
        for (const char* filter : {"", "minimal", "cpu", "software"})
            EXPECT_THROW(static_cast<void>(context.choose(filter)), Error) << filter;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Devices, TrialOfADevice,
    testing::Values(DeviceCase{"open_fails", "device_open/error/both/first/kept", "the driver says no"},
                    DeviceCase{"open_gives_nothing", "device_open/null_handle/both/first/kept", "no handle"},
                    DeviceCase{"open_throws", "device_open/throw_exception/both/first/kept", "driver says boo"},
                    DeviceCase{"heaps_fail", "heaps/error/both/first/kept", "the driver says no"},
                    DeviceCase{"does_not_compile", "compile/error/both/first/kept", "the driver says no"},
                    DeviceCase{"is_lost", "run/device_lost/both/first/kept", "lost"},
                    DeviceCase{"does_not_pack", "pack/error/both/first/kept", "the driver says no"},
                    DeviceCase{"packs_wrongly", "pack/wrong_result/both/first/kept", "computes wrongly"},
                    DeviceCase{"computes_wrongly", "run/wrong_result/both/first/kept", "computes wrongly"},
                    DeviceCase{"copies_wrongly", "copy/wrong_result/both/first/kept", "computes wrongly"}),
    [](const auto& p) { return p.param.name; });

TEST(Trial, AWrongResultStaysKnownAndARefusalForAnHour) {
    for (const bool wrong : {true, false}) {
        const Place place(wrong ? "run/wrong_result/child/first/kept" : "compile/error/child/first/kept");
        static_cast<void>(Context(place.options()).report());
        ASSERT_EQ(place.remembered(), 1U);
        const int64_t left =
            place.trials().front().until -
            std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
        EXPECT_EQ(left > 7200, wrong) << left;
        EXPECT_GT(left, 0);
    }
}

class TrialOfAModule : public testing::TestWithParam<DeviceCase> {};

TEST_P(TrialOfAModule, WhoseOnlyDeviceEndsTheChildIsNotLoadedAndTheStepIsNamed) {
    const Place place(GetParam().plan);
    const bool hangs = std::string(GetParam().plan).find("/hang/") != std::string::npos;
    ContextOptions options = place.options();
    if (hangs) options.probe_limit = zoo::kShort;
    for (int start = 0; start < 2; ++start)
        expect_the_good_one(place, options, hangs ? ReasonCode::timed_out : ReasonCode::quarantined, GetParam().words);
}

INSTANTIATE_TEST_SUITE_P(
    Devices, TrialOfAModule,
    testing::Values(DeviceCase{"open_crashes", "device_open/crash/both/first/kept", "'open of device 0'"},
                    DeviceCase{"open_hangs", "device_open/hang/both/first/kept", "'open of device 0'"},
                    DeviceCase{"heaps_crash", "heaps/crash/both/first/kept", "'heaps of device 0'"},
                    DeviceCase{"query_aborts", "query/abort/both/first/kept", "'query of device 0'"},
                    DeviceCase{"compile_exits", "compile/exit_0/both/first/kept", "'compile of device 0'"},
                    DeviceCase{"pack_crashes", "pack/crash/both/first/kept", "'pack of device 0'"},
                    DeviceCase{"run_crashes", "run/crash/both/first/kept", "'run of device 0'"},
                    DeviceCase{"run_says_why", "run/log_and_abort/both/first/kept",
                               "'run of device 0'; it said: \"the provided PTX was compiled with an unsupported "
                               "toolchain; it ends the process: CUDA error\""},
                    DeviceCase{"close_crashes", "device_close/crash/both/first/kept", "'close of device 0'"},
                    DeviceCase{"second_list_crashes", "second_list/crash/both/first/kept", "'list again'"},
                    DeviceCase{"destructor_crashes", "unload/crash/both/first/unloadable", "'unload'"}),
    [](const auto& p) { return p.param.name; });

// ---- fail closed ----------------------------------------------------------------------------------------------------------------

TEST(Trial, WithoutAProgramThatTriesAModuleIsNotLoadedAndNothingIsRemembered) {
    const Place place("open/crash/both/first/kept");
    ContextOptions options = place.options();
    options.probe_program = place.at("no-such-program");
    expect_the_good_one(place, options, ReasonCode::not_tried, "No such file");
    std::ofstream(place.at("not-executable")) << "x";
    options.probe_program = place.at("not-executable");
    expect_the_good_one(place, options, ReasonCode::not_tried, "ermission denied");
    options.probe_program = "/bin/true";  // no probe at all
    expect_the_good_one(place, options, ReasonCode::not_tried, "ended from outside");
    EXPECT_EQ(place.remembered(), 0U);
    expect_the_good_one(place, place.options(), ReasonCode::quarantined, "'open'");
}

TEST(Trial, WithoutDescriptorsAModuleIsNotLoaded) {
    const Place place("open/crash/both/first/kept");
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit few = before;
    const int next = ::dup(STDOUT_FILENO);
    ::close(next);
    few.rlim_cur = static_cast<rlim_t>(next) + 4;  // enough for files, not for a child's pipes
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    Report report;
    {
        const Context context(place.options());
        report = context.report();
    }
    ::setrlimit(RLIMIT_NOFILE, &before);
    ASSERT_FALSE(report.candidates.empty()) << report.summary();
    EXPECT_EQ(report.candidates[0].code, ReasonCode::not_tried) << report.summary();
    EXPECT_NE(report.candidates[0].remedy.find("BACKPLANE_PROBE=never"), std::string::npos) << report.summary();
    EXPECT_EQ(report.devices.size(), 1U) << report.summary();
    EXPECT_EQ(place.remembered(), 0U);
}

TEST(Trial, NeedsNoDevNull) {
    const Place place("open/crash/both/first/kept");
    if (place.state().string().starts_with("/dev/"))
        GTEST_SKIP() << "temporary files are below /dev, which this test covers";
    const pid_t child = ::fork();
    if (child == 0) {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("none", "/dev", "tmpfs", 0, nullptr) != 0)
            ::_exit(77);
        const Report report = Context(place.options()).report();
        ::_exit(report.candidates.at(0).code == ReasonCode::quarantined ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status)) << "the application died";
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this user may not change what is mounted";
    EXPECT_EQ(WEXITSTATUS(status), 0) << "it was not tried";
}

// ---- cut short from outside ------------------------------------------------------------------------------------------------------

TEST(Trial, ThatIsEndedFromOutsideIsMadeAgainAndIsNoVerdict) {
    for (const char* signal : {"TERM", "KILL", "HUP", "INT"}) {
        const Place place("constructor/slow/both/first/kept");
        ContextOptions options = place.options();
        options.probe_program =
            script(place, "echo x >> " + place.at("starts").string() + "; kill -" + signal + " $$; sleep 9");
        expect_the_good_one(place, options, ReasonCode::not_tried, "ended from outside");
        EXPECT_EQ(lines_of(place.at("starts")).size(), 2U);
        EXPECT_EQ(place.remembered(), 0U);
        EXPECT_EQ(Context(place.options()).report().candidates.at(0).verdict, Verdict::loaded);
    }
}

TEST(Trial, AModuleThatEndsOrStopsItsParentDoesNotReachTheHost) {
    for (const auto& [act, code] :
         {std::pair{"kill_parent", ReasonCode::not_tried}, std::pair{"stop_parent", ReasonCode::timed_out}}) {
        const Place place(std::string("open/") + act + "/child/first/kept");
        ContextOptions options = place.options();
        options.probe_limit = zoo::kShort;
        expect_the_good_one(place, options, code, "tried");
    }
}

// ---- time --------------------------------------------------------------------------------------------------------------------------

TEST(Trial, WhatTheBudgetDoesNotReachIsNotLoadedForNowAndNotRemembered) {
    Place place("open/hang/both/first/kept");
    place.put("two", "open/slow/both/first/unloadable");
    ContextOptions options = place.options();
    options.probe_limit = options.probe_budget = milliseconds(1200);
    const Report report = Context(options).report();
    EXPECT_EQ(report.candidates.at(0).code, ReasonCode::timed_out) << report.summary();
    EXPECT_EQ(report.candidates.at(1).code, ReasonCode::not_tried) << report.summary();
    EXPECT_NE(report.candidates[1].reason.find("the time for trials, 1.2 s,"), std::string::npos) << report.summary();
    EXPECT_EQ(place.remembered(), 1U);
    options.probe_limit = options.probe_budget = milliseconds(BP_TEST_PROBE_LIMIT);
    EXPECT_EQ(Context(options).report().candidates.at(1).verdict, Verdict::loaded) << "the next start goes on from there";
}

TEST(Trial, ModulesOfSeveralBackendsAreTriedSideBySide) {
    Place place("open/hang/both/first/kept");
    place.put("two", "open/hang/both/first/kept");
    place.rename_backend(1, "another");
    ContextOptions options = place.options();
    options.probe_limit = options.probe_budget = milliseconds(2500);
    const Report report = Context(options).report();
    // One after the other, the second would get none of the budget.
    EXPECT_EQ(report.candidates.at(0).code, ReasonCode::timed_out) << report.summary();
    EXPECT_EQ(report.candidates.at(1).code, ReasonCode::timed_out) << report.summary();
}

TEST(Trial, EndsAtOnceWhenTheApplicationCancels) {
    const Place place("open/hang/both/first/kept");
    std::atomic<uint32_t> cancel{0};
    ContextOptions options = place.options();
    options.probe_limit = std::chrono::minutes(5);
    options.cancel = &cancel;
    std::thread later([&] {
        while (!fs::exists(place.at("one") / "fired")) std::this_thread::sleep_for(milliseconds(5));
        cancel = 1;
    });
    try {
        const Context context(options);
        ADD_FAILURE() << "it was not cancelled";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::cancelled) << error.what();
    }
    later.join();
    EXPECT_EQ(place.remembered(), 0U);
}

// ---- what is believed ----------------------------------------------------------------------------------------------------------------

TEST(Trial, AForgedRecordIsNotBelievedHoweverTheProcessEndsAndWhoeverTakesItsStatus) {
    struct sigaction ignore {};
    struct sigaction before {};
    ignore.sa_handler = SIG_IGN;
    for (const bool ignored : {false, true}) {
        ::sigaction(SIGCHLD, ignored ? &ignore : nullptr, &before);
        for (const char* forger : {"backplane-forges_the_record.so", "backplane-forges_the_record_and_exits.so"}) {
            const Place place("open/slow/both/first/kept");
            ContextOptions options = place.options();
            options.module_paths.front() = fs::path(BP_TEST_ZOO_ANIMALS) / forger;
            const Report report = Context(options).report();
            EXPECT_EQ(report.candidates.at(0).code, ReasonCode::quarantined) << forger << ignored << report.summary();
        }
        ::sigaction(SIGCHLD, &before, nullptr);
    }
}

TEST(Trial, HostsThatTakeTheStatusOfEveryChildGetTheSameVerdicts) {
    struct sigaction ignore {};
    struct sigaction before {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGCHLD, &ignore, &before);
    const Place crashes("open/crash/both/first/kept");
    expect_the_good_one(crashes, crashes.options(), ReasonCode::quarantined, "signal 11");
    const Place good("open/slow/both/first/kept");
    EXPECT_EQ(Context(good.options()).report().candidates.at(0).verdict, Verdict::loaded);
    ::sigaction(SIGCHLD, &before, nullptr);
}

}  // namespace
}  // namespace backplane
