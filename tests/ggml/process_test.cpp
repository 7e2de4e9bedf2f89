// The replacement where child processes cannot be had, are ended by others, or must not be noticed.
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fstream>

#include "dropin.hpp"

namespace {

using namespace dropin;

bool has(const Outcome& o, const std::string& part) { return o.text.find(part) != std::string::npos; }

// A module that is first by its name, is not for this processor, and says so when it is asked; and a good one.
class WithoutChildren : public Dropin {
protected:
    void SetUp() override {
        Dropin::SetUp();
        if (IsSkipped()) return;
        add_faulty("NOT_FOR_HERE", "libggml-cpu-alderlake.so");
        add_stock("libggml-cpu-x64.so");
    }
    [[nodiscard]] std::string all() const { return "all " + modules().string() + " devices"; }
    void expect_asked(const Outcome& o) const {
        expect(o, "devices 1, registrations 1: CPU");
        expect(o, "loaded CPU backend from " + (modules() / "libggml-cpu-x64.so").string());
        expect(o, "modules are loaded untried, by the score each gives itself");
    }
    [[nodiscard]] bool remembered() const {
        std::error_code error;
        return fs::exists(root_ / "state" / "folders", error) && !fs::is_empty(root_ / "state" / "folders", error);
    }
};

TEST_F(WithoutChildren, WithoutTheProbeEachIsAskedItsScoreAndNothingIsRemembered) {
    const fs::path library = own_library("own");
    fs::remove(root_ / "own" / "backplane-probe-ggml");
    expect_asked(run(all(), "", library));
    EXPECT_FALSE(remembered());
    const Outcome tried = run(all(), "", own_library("own"));  // the probe came
    expect(tried, "devices 1, registrations 1: CPU");
    EXPECT_FALSE(has(tried, "untried")) << tried.text;
    EXPECT_TRUE(remembered());
}

TEST_F(WithoutChildren, AProbeThatCannotBeRunIsSaidAndEachIsAskedItsScore) {
    const fs::path library = own_library("own");
    fs::permissions(root_ / "own" / "backplane-probe-ggml", fs::perms::owner_read);
    const Outcome o = run(all(), "", library);
    expect_asked(o);
    expect(o, "Permission denied");
    EXPECT_FALSE(remembered());
}

TEST_F(WithoutChildren, AProcessThatMayStartNoOtherAsksEachItsScore) {
    const Outcome refused = run("refuse-children " + all());
    if (refused.status == 4) GTEST_SKIP() << "this system has no seccomp filters: " << refused.text;
    expect_asked(refused);
    EXPECT_FALSE(remembered());
}

TEST_F(WithoutChildren, AProcessThatWouldBeEndedForAChildStartsNone) {
    const Outcome killed = run("kill-children " + all());
    if (killed.status == 4) GTEST_SKIP() << "this system has no seccomp filters: " << killed.text;
    expect_asked(killed);
    EXPECT_FALSE(remembered());
}

TEST_F(WithoutChildren, NeverTryingIsAnOption) { expect_asked(run(all(), "BACKPLANE_PROBE=never")); }

// Who runs it, and set its variables, is not whose group it acts for.
TEST_F(Dropin, ASetGroupIdProgramIgnoresTheEnvironmentAndWritesNothing) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can make a program set-group-id of another group";
    struct statvfs mounted {};
    if (statvfs(root_.c_str(), &mounted) != 0 || (mounted.f_flag & ST_NOSUID) != 0)
        GTEST_SKIP() << "the folder for temporary files is mounted so that set-group-id has no effect";
    add_stock("libggml-cpu-x64.so");
    const fs::path program = root_ / "program";
    fs::copy_file(BP_GGML_DRIVER, program);
    fs::create_directory(root_ / "home");
    const std::string home = (root_ / "home").string();
    const std::string line = "cd / && HOME=" + home + " XDG_CACHE_HOME=" + home +
                             " BACKPLANE_STATE_DIR=" + (root_ / "state").string() + " GGML_DISABLE_CPU=1 timeout 120 " +
                             program.string() + " " + (kStock / "libggml-base.so").string() + " " BP_GGML_LIBRARY " all " +
                             modules().string() + " devices";
    expect(shell(line), "devices 0, registrations 0");
    EXPECT_TRUE(fs::exists(root_ / "state"));
    fs::remove_all(root_ / "state");
    ASSERT_EQ(chown(program.c_str(), 0, 4321), 0);
    ASSERT_EQ(chmod(program.c_str(), 02755), 0);
    expect(shell(line), "devices 1, registrations 1: CPU");
    EXPECT_FALSE(fs::exists(root_ / "state"));
    EXPECT_TRUE(fs::is_empty(root_ / "home"));
}

TEST_F(Dropin, TheApplicationIsToldOfNoChild) {
    add_stock("libggml-cpu-x64.so");
    add_stock("libggml-cpu-sse42.so");
    add_faulty("INIT_CRASHES");
    const Outcome o = run("count-children " + modules().string() + " devices");
    expect(o, "children signalled 0, caught 0");
    expect(o, "devices 1, registrations 1: CPU");
    expect(o, "it crashed with segmentation fault (signal 11) during 'init'");
}

// As a debugger does (ptrace): what is held stands still until it is let go.
TEST_F(Dropin, AModuleThatHoldsTheApplicationIsEndedAndTheApplicationGoesOn) {
    add_stock("libggml-cpu-x64.so");
    add_faulty("HOLDS_APPLICATION");
    const Outcome o = run("all " + modules().string() + " devices", "FAULTY_FILE=" + (root_ / "held").string());
    expect(o, "devices 1, registrations 1: CPU");
    if (has(o, "it held the application as a debugger does, which stopped it during 'init'")) return;
    std::string said;  // it is ended as soon as it holds, perhaps before it can say so
    std::getline(std::ifstream(root_ / "held"), said);
    ASSERT_FALSE(said.empty()) << "it did not try: " << o.text;
    ASSERT_NE(said, "yes") << "that it holds was not seen: " << o.text;
    GTEST_SKIP() << "a process may hold no other here: " << said;
}

TEST_F(Dropin, WhatAModuleLeavesOfItsTrialEndsWithIt) {
    add_faulty("LEAVES_DAEMON");
    expect(run("all " + modules().string() + " devices", "FAULTY_FILE=" + (root_ / "left").string()),
           "devices 1, registrations 1: FakeGPU");
    expect_gone(root_ / "left");
}

TEST_F(Dropin, AChildOfTheApplicationMayAskWhileAnotherThreadLoads) {
    add_stock("libggml-cpu-x64.so");
    add_faulty("SCORE_HANGS");
    const Outcome o = run("fork-while-loading " + modules().string() + " devices", "BACKPLANE_PROBE_LIMIT=8");
    expect(o, "asked while it was loading: yes");  // who asks does not wait for who loads
    expect(o, "child ended with 0");
    expect(o, "devices 1, registrations 1: CPU");
}

}  // namespace
