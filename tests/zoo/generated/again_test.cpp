// What has modules tried again and what does not; what keeps them out; and what they may not write to.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "backplane/backplane.h"
#include "zoo/generated/place.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;
using zoo::compute;
using zoo::expect_the_good_one;
using zoo::lines_of;
using zoo::Place;
using zoo::script;

// How a process ends that does this: the signal, or the exit code.
struct End {
    int signal = 0, code = 0;
};
End in_a_child(const std::function<void()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        body();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return {WIFSIGNALED(status) ? WTERMSIG(status) : 0, WIFEXITED(status) ? WEXITSTATUS(status) : 0};
}

// The probe, and a line in the file `trials` for each time.
fs::path counting_probe(const Place& place) {
    return script(place, "echo x >> " + place.at("trials").string() + "; exec " + BP_TEST_PROBE + " \"$@\"");
}
size_t trials_of(const Place& place) { return lines_of(place.at("trials")).size(); }

TEST(TrialAgain, AnotherProbeTriesThingsAgainAndEachRemembersItsOwn) {
    const Place place("open/slow/both/first/kept");
    ContextOptions options = place.options();
    const fs::path first = counting_probe(place);
    const fs::path second = place.at("another");
    fs::copy_file(first, second);
    const auto start_with = [&](const fs::path& probe) {
        options.probe_program = probe;
        static_cast<void>(Context(options).report());
        return trials_of(place);
    };
    EXPECT_EQ(start_with(first), 1U);
    EXPECT_EQ(start_with(first), 1U) << "it is remembered";
    EXPECT_EQ(start_with(second), 2U);
    EXPECT_EQ(start_with(first), 2U) << "what the first found out is still known of it";
    fs::rename(second, first);  // repaired: another file of the same name
    EXPECT_EQ(start_with(first), 3U);
    EXPECT_EQ(start_with(first), 3U);
}

TEST(TrialAgain, AWrongVerdictOfABrokenProbeDoesNotOutliveIt) {
    const Place place("open/slow/both/first/kept");
    ContextOptions options = place.options();
    options.probe_program = script(place, std::string("exec ") + BP_TEST_PROBE + " /no/such/module 1");
    EXPECT_EQ(Context(options).report().candidates.at(0).verdict, Verdict::failed);
    EXPECT_EQ(Context(place.options()).report().candidates.at(0).verdict, Verdict::loaded);
}

TEST(TrialAgain, AModuleThatIsTrustedIsSoWhicheverProgramWouldTryIt) {
    const char* program = BP_TEST_CLI;
    if (program[0] == '\0') GTEST_SKIP() << "this build has no command line";
    const Place place("open/error/child/first/kept");
    const std::string command = "BACKPLANE_STATE_DIR=" + place.state().string() + " " + program + " modules trust " +
                                place.module().string() + " > /dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
    ContextOptions options = place.options();
    options.probe_program = counting_probe(place);
    EXPECT_EQ(Context(options).report().candidates.at(0).verdict, Verdict::loaded);
    EXPECT_EQ(trials_of(place), 0U);
}

// ---- kept out ---------------------------------------------------------------------------------------------------------------------

TEST(KeptOut, AModuleIsNotTriedEither) {
    const Place place("list/crash/host/first/kept");
    ContextOptions options = place.options();
    options.probe_program = counting_probe(place);
    EXPECT_EQ(in_a_child([&] { static_cast<void>(Context(options).report()); }).signal, SIGSEGV);
    expect_the_good_one(place, options, ReasonCode::quarantined, "it is kept out until");
    const size_t before = trials_of(place);
    EXPECT_EQ(before, 2U) << "at the first start, and because a process ended";
    options.probe = ProbePolicy::always;
    expect_the_good_one(place, options, ReasonCode::quarantined, "it is kept out until");
    EXPECT_EQ(trials_of(place), before);
}

TEST(KeptOut, WhoRunsOutOfStackInALongCallIsKnownToHaveDoneSo) {
    for (const char* where : {"compile", "run", "list"}) {
        const Place place(std::string(where) + "/stack_overflow/host/first/kept");
        EXPECT_EQ(in_a_child([&] { compute(Context(place.options()).choose("minimal")); }).signal, SIGSEGV);
        expect_the_good_one(place, place.options(), ReasonCode::quarantined,
                            std::string("ended inside '") + where + "' of it");
        expect_the_good_one(place, place.options(), ReasonCode::quarantined, "segmentation fault (signal 11)");
    }
}

// ---- the host's table ---------------------------------------------------------------------------------------------------------------

TEST(HostTable, AModuleThatWritesOverItInItsTrialIsNotLoaded) {
    for (const char* where : {"open", "list", "second_list", "device_open", "heaps", "query", "compile", "pack", "run",
                              "copy", "buffer_create"}) {
        const Place place(std::string(where) + "/write_over_host/both/first/kept");
        const std::string call = std::string(where) == "second_list" ? "list" : where;
        for (int start = 0; start < 2; ++start)
            expect_the_good_one(place, place.options(), ReasonCode::bad_table,
                                "it wrote over the host's table in '" + call + "'");
    }
}

TEST(HostTable, IsAsItWasWhereAModuleWritesOverItInTheApplicationAlone) {
    for (const char* where : {"open", "list"}) {
        const Place place(std::string(where) + "/write_over_host/host/first/kept");
        expect_the_good_one(place, place.options(), ReasonCode::bad_table, "it wrote over the host's table");
    }
    const Place place("run/write_over_host/host/first/kept");
    const Context context(place.options());
    const Device device = context.choose("minimal");
    EXPECT_EQ(device.info().module, fs::canonical(place.module()));
    try {
        compute(device);
        ADD_FAILURE() << "it was not seen";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("backplane-faulty.so wrote over the host's table in 'run'"),
                  std::string::npos)
            << error.what();
    }
    EXPECT_EQ(context.report().candidates.at(0).code, ReasonCode::bad_table);
    compute(context.choose("minimal"));  // the good one's
}

// ---- the C API -----------------------------------------------------------------------------------------------------------------------

TEST(TrialInC, EndsAtOnceWhenTheApplicationCancelsAndHasABudget) {
    Place place("open/hang/both/first/kept");
    place.put("two", "open/slow/both/first/unloadable");
    const std::vector<fs::path> paths = place.options().module_paths;
    const std::array files{paths[0].c_str(), paths[1].c_str()};
    const std::string state = place.state().string();
    std::array<char, 256> text{};
    bp_error error{BP_SIZE(bp_error, capacity), 0, 0, text.data(), text.size()};
    backplane_context* context = nullptr;
    backplane_context_options options{};
    options.struct_size = BP_SIZE(backplane_context_options, cancel);
    options.skip_defaults = options.skip_linked_in = options.skip_environment = 1;
    options.module_paths = files.data();
    options.module_path_count = files.size();
    options.probe_program = BP_TEST_PROBE;
    options.state_folder = state.c_str();

    volatile uint32_t cancel = 1;
    options.probe_limit_ms = 300000;
    options.cancel = &cancel;
    EXPECT_EQ(backplane_context_create(&options, &context, &error), BP_CANCELLED) << text.data();
    EXPECT_EQ(context, nullptr);

    options.cancel = nullptr;
    options.probe_limit_ms = options.probe_budget_ms = 1200;
    ASSERT_EQ(backplane_context_create(&options, &context, &error), BP_OK) << text.data();
    backplane_context_destroy(context);
    EXPECT_EQ(place.trials().size(), 1U) << "the first used up the time of the second";
}

}  // namespace
}  // namespace backplane
