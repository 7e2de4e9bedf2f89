// For every module of the zoo, beside a good one that it outranks: the host lives, the good one's device is chosen and computes, and the
// report says why in a sentence.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <thread>

#include "backplane/context.hpp"
#include "backplane/runtime.hpp"
#include "support/system.hpp"
#include "zoo/animal.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

std::string good_file() { return test::library("backplane-minimal"); }

void expect_it_computes(const Context& context) {
    Graph graph;
    graph.output(graph.add(Op::relu, {graph.input("x", DType::f32, {4})}), "y");
    Session session(context.choose("minimal"), graph, WeightSource{});
    const std::vector<float> in{1, -2, 3, -4};
    std::vector<float> out(4, 9);
    session.run({{{"x", std::as_bytes(std::span(in))}}}, {{{"y", std::as_writable_bytes(std::span(out))}}});
    EXPECT_EQ(out, (std::vector<float>{1, 0, 3, 0}));
}

constexpr std::chrono::seconds kLong(60);  // of a trial of what does not hang

ContextOptions options_for(const fs::path& folder) {
    ContextOptions o;
    o.search_defaults = o.use_linked_in = o.use_environment = false;
    o.state_folder = folder / "state";
    o.probe_limit = std::chrono::milliseconds(BP_TEST_PROBE_LIMIT);
    o.probe_program = BP_TEST_PROBE;
    return o;
}

// Of the children's sanitizers, where this is built with one: what a signal is shall stay one. The host's have read theirs.
void leave_signals_to_the_system() {
    const char* options =
        "handle_segv=0:handle_abort=0:handle_sigill=0:handle_sigfpe=0:handle_sigbus=0:detect_leaks=0:report_thread_leaks=0";
    test::set_environment("ASAN_OPTIONS", options);
    test::set_environment("TSAN_OPTIONS", options);
}

class Zoo : public testing::TestWithParam<Animal> {
protected:
    Zoo() : folder_(test::make_temporary_folder()) {
        leave_signals_to_the_system();
        const std::string bad = test::library(std::string("backplane-") + GetParam().fault);
        fs::create_directory(folder_ / "modules");
        fs::copy_file(fs::path(BP_TEST_ZOO) / bad, folder_ / "modules" / bad);
        fs::copy_file(fs::path(BP_TEST_MINIMAL) / good(), folder_ / "modules" / good());
    }
    ~Zoo() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    static std::string good() { return good_file(); }

    [[nodiscard]] ContextOptions options() const {
        ContextOptions o = options_for(folder_);
        o.module_paths = {folder_ / "modules"};
        if (!hangs()) o.probe_limit = kLong;
        return o;
    }
    static bool hangs() { return GetParam().code == ReasonCode::timed_out; }
    // What hangs costs the whole limit, so that is short. Where a busy machine did not get as far as the fault in it, the same with a longer one.
    static std::unique_ptr<Context> context_at(ContextOptions options) {
        auto context = std::make_unique<Context>(options);
        while (hangs() && options.probe_limit < kLong && !names(context->report())) {
            options.probe_limit *= 4;
            std::error_code ignored;
            context.reset();
            fs::remove_all(options.state_folder, ignored);
            context = std::make_unique<Context>(options);
        }
        return context;
    }
    static bool names(const Report& report) {
        return !report.candidates.empty() && report.candidates[0].reason.find(GetParam().words) != std::string::npos;
    }
    static void expect_the_right_outcome(const ContextOptions& options) {
        const Animal& animal = GetParam();
        const std::unique_ptr<Context> at = context_at(options);
        const Context& context = *at;
        const Report report = context.report();
        ASSERT_EQ(report.candidates.size(), 2U);
        const bool bad_first = report.candidates[0].path.filename() != good();
        ASSERT_TRUE(bad_first) << "it claims to be better and is tried first";
        EXPECT_EQ(report.candidates[0].verdict, animal.verdict) << report.summary();
        EXPECT_EQ(report.candidates[0].code, animal.code) << report.summary();
        EXPECT_NE(report.candidates[0].reason.find(animal.words), std::string::npos) << report.summary();
        ASSERT_EQ(report.devices.size(), 1U) << report.summary();
        expect_it_computes(context);
    }
    fs::path folder_;
};

TEST_P(Zoo, TheHostLivesTheRightDeviceRunsAndTheReasonIsGiven) {
    expect_the_right_outcome(options());
    std::vector<fs::path> entries;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "state"))
        if (entry.is_regular_file()) entries.push_back(entry.path());
    ASSERT_EQ(entries.size(), 1U) << "one trial remembered";
    const fs::path entry = entries.front();
    const auto written = fs::last_write_time(entry);
    expect_the_right_outcome(options());
    EXPECT_EQ(fs::last_write_time(entry), written) << "not tried again";
}

TEST_P(Zoo, AnotherStateFolderThatCannotBeWrittenChangesNothing) {
    ContextOptions o = options();
    o.state_folder = fs::path(BP_TEST_MINIMAL) / good() / "no" / "folder";
    expect_the_right_outcome(o);
}

// All that cannot be loaded, in one folder of their own each so that the order is the caller's, and the good one last or anywhere.
class WholeZoo : public testing::Test {
protected:
    WholeZoo() : folder_(test::make_temporary_folder()) {
        leave_signals_to_the_system();
        for (const Animal& animal : all_animals())
            if (animal.verdict != Verdict::loaded)
                files_.push_back(fs::path(BP_TEST_ZOO) / test::library(std::string("backplane-") + animal.fault));
        files_.push_back(fs::path(BP_TEST_MINIMAL) / good_file());
    }
    ~WholeZoo() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    // Named by the application, all in one order: each is tried until one is good.
    void expect_the_good_one(unsigned seed) const {
        ContextOptions o = options_for(folder_);
        o.module_paths = files_;
        std::shuffle(o.module_paths.begin(), o.module_paths.end(), std::minstd_rand(seed));
        const Context context(o);
        const Report report = context.report();
        ASSERT_EQ(report.candidates.size(), files_.size());
        bool found = false;
        for (const Candidate& c : report.candidates) {
            const bool good = c.path.filename() == good_file();
            EXPECT_EQ(c.verdict == Verdict::loaded, good) << report.summary();
            EXPECT_FALSE(!good && !found && c.reason.empty()) << "tried before the good one, and no reason: " << c.path;
            found = found || good;
        }
        ASSERT_EQ(report.devices.size(), 1U) << report.summary();
        expect_it_computes(context);
    }
    fs::path folder_;
    std::vector<fs::path> files_;
};

TEST_F(WholeZoo, EightThreadsAHundredTimesInAnyOrderFromTheFirstContactOn) {
    constexpr unsigned kThreads = 8;
    const char* given = std::getenv("ZOO_ROUNDS");  // where a round takes long
    const unsigned rounds = given != nullptr ? static_cast<unsigned>(std::max(1, std::atoi(given))) : 100;
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < kThreads; ++thread)
        threads.emplace_back([this, thread, rounds] {
            for (unsigned round = 0; round < rounds; ++round) expect_the_good_one(thread * rounds + round + 1);
        });
    for (std::thread& thread : threads) thread.join();
}

std::string content_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// What a program reads of the command line is the command line's alone, on every system.
TEST(ZooCommandLine, WhatAModulePrintsIsNoPartOfItsOutput) {
    if (BP_TEST_CLI[0] == '\0') GTEST_SKIP() << "this build has no command line";
    const fs::path folder = test::make_temporary_folder();
    const std::string out = (folder / "out").string();
    const std::string err = (folder / "err").string();
    const std::string module = (fs::path(BP_TEST_ZOO) / test::library("backplane-output_is_a_flood")).string();
    const std::string line =
        fs::path(BP_TEST_CLI).make_preferred().string() + " devices --json --device minimal --modules " + module;
    if (line.find(' ') != line.find(" devices") || out.find(' ') != std::string::npos)
        GTEST_SKIP() << "a space in the name of a folder, which this test cannot give to the shell: " << line;
    test::set_environment("ZOO_PRINTS", "1");
    test::set_environment("BACKPLANE_STATE_DIR", (folder / "state").string());
    const int status = std::system((line + " > " + out + " 2> " + err).c_str());  // NOLINT(cert-env33-c)
    test::unset_environment("ZOO_PRINTS");
    test::unset_environment("BACKPLANE_STATE_DIR");
    const std::string printed = content_of(out);
    EXPECT_EQ(status, 0) << printed << content_of(err);
    EXPECT_EQ(printed.find("of no use to anybody"), std::string::npos);
    EXPECT_EQ(printed.find('{'), 0U) << printed.substr(0, 200);
    EXPECT_NE(printed.find("output_is_a_flood"), std::string::npos) << printed.substr(0, 2000);
    EXPECT_NE(content_of(err).find("a line of no use to anybody"), std::string::npos) << "it did not print";
    std::error_code ignored;
    fs::remove_all(folder, ignored);
}

INSTANTIATE_TEST_SUITE_P(Modules, Zoo, testing::ValuesIn(all_animals()),
                         [](const testing::TestParamInfo<Animal>& animal) { return std::string(animal.param.fault); });

}  // namespace
}  // namespace backplane
