// What is remembered of modules: told with its times and how to forget it, forgotten whole, by file, and not kept where it does not belong.
#include "registry/remembered.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "backplane/context.hpp"
#include "base/environment.hpp"
#include "registry/trial.hpp"
#include "registry/verdict_store.hpp"
#include "support/system.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

class Remembering : public ::testing::Test {
protected:
    Remembering() : folder_(test::make_temporary_folder()), state_(folder_ / "state") {}
    ~Remembering() override {
        test::unset_environment("BACKPLANE_TEST_FAULT");
        test::unset_environment("BACKPLANE_MODULE_PATH");
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    // `kind`: "none" or "child", what its descriptor says of trials.
    [[nodiscard]] ContextOptions options(const char* kind) const {
        ContextOptions options;
        options.module_paths = {fs::path(BP_TEST_FAULTY) / kind, BP_TEST_MINIMAL};
        options.search_defaults = options.use_linked_in = options.use_environment = false;
        options.probe_program = BP_TEST_PROBE;
        options.state_folder = state_;
        return options;
    }
    static Candidate faulty_in(const Report& report) {
        const auto found = std::find_if(report.candidates.begin(), report.candidates.end(), [](const Candidate& c) {
            return c.path.filename() == test::library("backplane-faulty");
        });
        return found != report.candidates.end() ? *found : Candidate{};
    }
    static bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }
    fs::path folder_, state_;
};

TEST_F(Remembering, ARefusalSaysThatItIsRememberedSinceWhenUntilWhenAndHowToForgetIt) {
    test::set_environment("BACKPLANE_TEST_FAULT", "child open 1 crash");
    for (const char* time : {"first", "second"}) {
        const Candidate faulty = faulty_in(Context(options("child")).report());
        EXPECT_EQ(faulty.code, ReasonCode::quarantined) << faulty.reason;
        for (const char* words : {"remembered since 20", " UTC until 20", "backplane modules forget ", "backplane-faulty"})
            EXPECT_TRUE(has(faulty.remedy, words)) << time << ": " << faulty.remedy;
        EXPECT_TRUE(has(faulty.remedy, "BACKPLANE_STATE_DIR=")) << "it is not the user's own folder: " << faulty.remedy;
    }
}

TEST_F(Remembering, AFileIsForgottenUnderWhateverOptionsItWasTriedAndEverythingAtOnce) {
    test::set_environment("BACKPLANE_TEST_FAULT", "child open 1 crash");
    for (const char* mask : {"", "avx512f"}) {
        ContextOptions o = options("child");
        o.cpu_mask = mask;
        EXPECT_EQ(faulty_in(Context(o).report()).code, ReasonCode::quarantined);
    }
    base::StoredEntry entry;
    entry.fields[registry::kDeviceField] = "faulty:0";
    static_cast<void>(registry::tuned_store(state_).remember("graph", entry));
    const Candidate faulty = faulty_in(Context(options("child")).report());
    entry.about = faulty.path.string();
    static_cast<void>(registry::op_store(state_).remember("op", entry));
    EXPECT_EQ(registry::all_remembered(state_).size(), 4U);
    EXPECT_EQ(registry::forget_remembered(state_, fs::path(BP_TEST_MINIMAL) / test::library("backplane-minimal")), 0U);
    EXPECT_EQ(registry::forget_remembered(state_, faulty.path), 3U) << "two trials and an op";
    EXPECT_EQ(registry::all_remembered(state_).size(), 1U);
    test::unset_environment("BACKPLANE_TEST_FAULT");
    EXPECT_EQ(faulty_in(Context(options("child")).report()).verdict, Verdict::loaded) << "tried again";
    EXPECT_EQ(registry::forget_all_remembered(state_), 2U);
    EXPECT_TRUE(registry::all_remembered(state_).empty());
}

TEST_F(Remembering, WhereNothingCanBeKeptThatIsSaidOnceAndTheModuleIsTriedEachTime) {
    std::ofstream(folder_ / "file") << "x";
    state_ = folder_ / "file" / "state";
    for (const char* fault : {"child open 1 crash", ""}) {
        test::set_environment("BACKPLANE_TEST_FAULT", fault);
        const Report report = Context(options("child")).report();
        EXPECT_EQ(faulty_in(report).verdict, *fault != '\0' ? Verdict::failed : Verdict::loaded) << report.summary();
        EXPECT_EQ(faulty_in(report).reason.find("leaves"), std::string::npos)
            << "its own end is counted: " << report.summary();
        EXPECT_FALSE(has(faulty_in(report).remedy, "remembered")) << faulty_in(report).remedy;
        const auto count = std::count_if(report.notes.begin(), report.notes.end(),
                                         [](const std::string& note) { return has(note, "cannot be remembered"); });
        EXPECT_EQ(count, 1) << report.summary();
    }
}

// ---- "probe":"none" ----

TEST_F(Remembering, AFilesOwnWordThatItNeedsNoTrialCountsOnlyWhereTheApplicationsModulesAre) {
    test::set_environment("BACKPLANE_TEST_FAULT", "child open 1 crash");
    EXPECT_EQ(faulty_in(Context(options("none")).report()).verdict, Verdict::loaded) << "the application's own: no child";
    ContextOptions named = options("none");
    named.trust_module_paths = false;  // a user named them
    EXPECT_EQ(faulty_in(Context(named).report()).code, ReasonCode::quarantined);
    ContextOptions environment = options("none");
    environment.module_paths.clear();
    environment.use_environment = environment.search_defaults = true;
    test::set_environment("BACKPLANE_MODULE_PATH", fs::absolute(fs::path(BP_TEST_FAULTY) / "none").string());
    const Report report = Context(environment).report();
    EXPECT_EQ(faulty_in(report).code, ReasonCode::quarantined) << report.summary();
}

TEST_F(Remembering, OneThatKeepsItsWordIsTriedOnceAndLoaded) {
    ContextOptions named = options("none");
    named.trust_module_paths = false;
    EXPECT_EQ(faulty_in(Context(named).report()).verdict, Verdict::loaded);
    const auto all = registry::all_remembered(state_);
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const auto& r) { return r.kind == "trial" && r.outcome == "good"; }));
    test::set_environment("BACKPLANE_TEST_FAULT", "child open 1 crash");
    EXPECT_EQ(faulty_in(Context(named).report()).verdict, Verdict::loaded) << "no child: it is remembered";
}

}  // namespace
}  // namespace backplane
